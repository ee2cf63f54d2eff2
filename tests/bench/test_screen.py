"""Ceilings over what the dashboard costs, with room for a busy machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import load
from tests.bench.screen import cost_in_a_stock_table, idle_share
from tests.tui.test_scale import cost_of_a_change

pytestmark = [pytest.mark.anyio, pytest.mark.bench]

MOST_OF_STOCK = 1 / 10
"""One changed row among 10,000, by the same in Textual's DataTable."""
MOST_IDLE = 0.003
"""The share of one processor that doing nothing takes."""


async def test_a_changed_row_costs_a_fraction_of_what_it_costs_in_a_stock_table() -> None:
    ours, stock = await cost_of_a_change(10_000), await cost_in_a_stock_table(10_000)
    assert ours / stock <= MOST_OF_STOCK, (ours, stock)


LEAST_OF_HEADLESS = 0.8
"""Events a second with the dashboard, by those without."""
MOST_KEY_MS = 150
"""Until a key is painted, 95 of 100."""


def test_under_load_a_dashboard_costs_the_dispatcher_little_and_its_keys_answer(
    tmp_path: Path,
) -> None:
    without = load.run(tmp_path, 4.0, screen=False)
    screen = load.run(tmp_path, 4.0, screen=True)
    assert screen.events / without.events >= LEAST_OF_HEADLESS
    assert load.percentile(screen.key_ms, 0.95) <= MOST_KEY_MS


async def test_a_dashboard_on_which_nothing_happens_takes_no_processor() -> None:
    assert await idle_share(100) <= MOST_IDLE
