"""A batch that has failed while turns of it are at work queues none of them again, and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.commands import ResumeBatch, StopTurn
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.batch import BatchState, OnError
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import AttemptEnd, TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


async def failed_beside_one_at_work(here: Bench) -> None:
    """T1 has failed, and its batch admits nothing more; T2 is at work, T3 never began."""
    tasks = [TaskSpec(f"T{n}", "a") for n in (1, 2, 3)]
    spec = batch_spec("b", tasks, [demo_agent("a", 2)], on_error=OnError.FAIL)
    await here.add(spec)
    await here.puppets.until_begun(1, 2)
    await here.end(1, TurnState.FAILED)
    assert here.view.batches["b"].state is BatchState.RUNNING


async def assert_over(here: Bench) -> None:
    view = await here.until(lambda view: view.batches["b"].state is not BatchState.RUNNING)
    assert view.batches["b"].state is BatchState.FAILED
    assert (view.queued, view.running) == (0, 0)
    assert view.tasks[2].status is Status.READY
    await here.deck.audit()
    assert here.view.violations == ()


async def test_one_that_is_stopped_is_not_queued_and_ends_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await failed_beside_one_at_work(here)
        await here.deck.submit(StopTurn(turn=2))
        await assert_over(here)


@pytest.mark.parametrize(
    "end",
    [
        {"state": TurnState.FAILED, "limited": UsageLimit("used up", after_seconds=60)},
        {"state": TurnState.FAILED, "surroundings": "agent", "error": "no such program"},
        {"state": TurnState.QUEUED, "end": AttemptEnd.FENCED},
    ],
    ids=["used up", "could not be started", "fenced"],
)
async def test_one_that_would_be_put_back_is_not_queued_and_ends_it(
    tmp_path: Path, end: dict[str, Any]
) -> None:
    async with bench(tmp_path) as here:
        await failed_beside_one_at_work(here)
        await here.end(2, **end)
        await assert_over(here)


async def test_taken_up_again_it_begins_what_was_left(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await failed_beside_one_at_work(here)
        await here.deck.submit(StopTurn(turn=2))
        await assert_over(here)
        await here.deck.submit(ResumeBatch(batch="b"))
        assert [here.view.turns[turn].task for turn in here.view.live] == [2, 3]
