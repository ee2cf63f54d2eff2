"""Trying a failed task again, with those that need it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from batchdeck.core.commands import AddBatch, RetryTask
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


def chain(**agent: object) -> BatchSpec:
    tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a", depends_on=("T1",))]
    return batch_spec("b", tasks, [demo_agent("a", 1, **agent)])


async def failed(here: Bench) -> None:
    """T1 has failed, and T2 with it."""
    await here.add(chain())
    await here.end(1, TurnState.FAILED)
    await here.until(lambda view: view.batches["b"].state is not BatchState.RUNNING)


async def test_a_task_whose_dependency_failed_is_not_tried_before_that_one(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await failed(here)
        receipt = await here.deck.submit(RetryTask(task="T2"))
        assert (receipt.accepted, receipt.exit_code) == (False, 3)
        assert "needs T1, which failed. Retry that" in receipt.message


async def test_what_follows_a_retried_task_runs_once_whoever_asked_for_it_too(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await failed(here)
        first = await here.deck.submit(RetryTask(task="T1"))
        second = await here.deck.submit(RetryTask(task="T2"))
        assert second.accepted, "T1 is queued again, so T2 may wait for it"
        assert first.turn is not None
        await here.end(first.turn)
        await here.end(here.view.live[0])
        view = await here.until(lambda view: view.batches["b"].state is BatchState.COMPLETED)
        assert view.task_counts["b"][Status.DONE] == 2
        assert len(here.puppets.begun) == 3


async def test_a_retry_that_waits_ends_with_the_task_it_waits_for(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await failed(here)
        first = await here.deck.submit(RetryTask(task="T1"))
        await here.deck.submit(RetryTask(task="T2"))
        assert first.turn is not None
        await here.end(first.turn, TurnState.FAILED)
        view = await here.until(lambda view: view.batches["b"].state is not BatchState.RUNNING)
        assert view.queued == 0
        assert view.tasks[2].error == "dependency T1 failed"


async def test_a_corrected_agent_is_what_the_retry_starts(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await failed(here)
        receipt = await here.deck.submit(AddBatch(spec=chain(seed=7)))
        assert "Changed by the file: agent a." in receipt.message
        assert "batchdeck task retry TASK" in receipt.message
        await here.deck.submit(RetryTask(task="T1"))
        await here.puppets.until_begun(here.view.live[0])
        assert here.puppets.assignments[here.view.live[0]].agent.script["seed"] == 7


async def test_a_first_command_comes_before_what_is_queued(tmp_path: Path) -> None:
    async with bench(tmp_path, dispatch=False) as here:
        await here.add(chain())
    async with bench(tmp_path, admit=False) as here:
        assert here.view.queued == 2
        await here.add(replace(chain(seed=7)))
        assert not here.view.running
        here.deck.admit()
        await here.puppets.until_begun(1)
        assert here.puppets.assignments[1].agent.script["seed"] == 7
