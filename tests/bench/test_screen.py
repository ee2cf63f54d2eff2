"""Ceilings over what the dashboard costs, with room for a busy machine."""

from __future__ import annotations

import pytest

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


async def test_a_dashboard_on_which_nothing_happens_takes_no_processor() -> None:
    assert await idle_share(100) <= MOST_IDLE
