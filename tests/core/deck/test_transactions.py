"""A transaction is short, whatever comes together in it."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from batchdeck.core.commands import SetLimit
from batchdeck.core.deck.handling.parts import MOST_AT_ONCE
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.store.changes import Changes
from tests.core.deck.test_foreach import spec
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio

LONGEST_SECONDS = 0.05
"""Of processor time: what the disk takes for a commit depends on what else the machine does."""
MANY = 256


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The processor time of each transaction."""
    seconds: list[float] = []
    write = Changes.write

    def measured(changes: Changes, raw: sqlite3.Connection) -> dict[int, str]:
        began = time.thread_time()
        try:
            return write(changes, raw)
        finally:
            seconds.append(time.thread_time() - began)

    monkeypatch.setattr(Changes, "write", measured)
    return seconds


async def test_no_transaction_of_a_working_deck_takes_long(
    tmp_path: Path, taken: list[float]
) -> None:
    async with bench(tmp_path, max_parallel_cap=MANY, parallelism_limit_cap=MANY) as here:
        await here.deck.submit(SetLimit(name="global", value=MANY))
        tasks = [TaskSpec(f"T{n}", "a") for n in range(2 * MANY)]
        await here.add(batch_spec("b", tasks, [demo_agent("a", MANY)]))
        await here.puppets.until_begun(*range(1, MANY + 1))
        adding = len(taken)
        for turn in range(1, MANY + 1):
            here.puppets.end(turn)
        await here.until(lambda view: view.live and min(view.live) > MANY)
    print(f"the longest {max(taken):.4f} s, of {len(taken)}")
    assert len(taken) - adding < MANY, "many ends share a transaction"
    assert max(taken) < LONGEST_SECONDS


async def test_a_batch_is_added_in_short_transactions_however_large_it_is(
    tmp_path: Path, taken: list[float]
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 6 * MOST_AT_ONCE))
    print(f"the longest {max(taken):.4f} s, of {len(taken)}")
    assert max(taken) < LONGEST_SECONDS
