"""What crosses: a status and a message, a stop and a fence, a force and a lowered limit."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import (
    Command,
    OnBusy,
    Receipt,
    RetryTask,
    Send,
    SetLimit,
    SetStatus,
    StopTurn,
)
from batchdeck.core.model.batch import BatchState, OnError
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import AttemptEnd, TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("status", [Status.DONE, Status.FAILED, Status.BACKLOG])
async def test_a_message_at_work_goes_on_whatever_its_task_is_set_to(
    tmp_path: Path, status: Status
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a")]))
        await here.end(1, TurnState.FAILED)
        sent = await here.deck.submit(Send(to="b/T1", text="why?"))
        await here.puppets.until_begun(sent.turn)
        await here.deck.submit(SetStatus(task="T1", status=status))
        assert sent.turn in here.view.live
        await here.end(sent.turn)
        assert here.view.turns[sent.turn].state is TurnState.SUCCEEDED
        assert set(here.deck.memory.scheduler.taken().values()) <= {0, here.view.running}


async def test_a_queued_message_is_admitted_in_the_lane_its_task_has_then(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a")]))
        await here.puppets.until_begun(1)
        sent = await here.deck.submit(Send(to="b/T1", text="and?", on_busy=OnBusy.QUEUE))
        assert here.view.turns[sent.turn].lane is Status.IN_PROGRESS
        await here.end(1)
        await here.puppets.until_begun(sent.turn)
        assert here.view.turns[sent.turn].lane is Status.DONE


async def test_a_stop_wins_over_a_fence(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a")]))
        await here.puppets.until_begun(1)
        here.puppets.end(1, TurnState.QUEUED, end=AttemptEnd.FENCED, exit_code=None)
        stopped = await here.deck.submit(StopTurn(turn=1, by="op"))
        assert stopped.state in (TurnState.CANCELLED, TurnState.QUEUED)
        await here.until(lambda view: view.turns[1].state is TurnState.CANCELLED)
        assert here.view.tasks[1].status is Status.READY
        assert here.view.running == 0


async def test_a_retry_in_a_failed_batch_brings_back_what_it_never_began(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a")]
        await here.add(batch_spec("b", tasks, [demo_agent("a")], on_error=OnError.FAIL))
        await here.end(1, TurnState.FAILED)
        assert here.view.batches["b"].state is BatchState.FAILED
        again = await here.deck.submit(RetryTask(task="T1"))
        await here.end(again.turn)
        second = here.view.tasks[2].turn
        await here.end(second)
        assert here.view.batches["b"].state is BatchState.COMPLETED


async def test_a_forced_message_and_a_limit_that_is_lowered_at_that_moment_are_both_carried_out(
    tmp_path: Path,
) -> None:
    receipts: dict[str, Receipt] = {}
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)

        async def ask(name: str, command: Command) -> None:
            receipts[name] = await here.deck.submit(command)

        async with anyio.create_task_group() as seats:
            seats.start_soon(ask, "force", Send(to="a", text="now", on_busy=OnBusy.FORCE))
            seats.start_soon(ask, "limit", SetLimit(name="global", value=1))
        assert receipts["force"].accepted, receipts["force"].message
        assert receipts["limit"].accepted, receipts["limit"].message
        assert here.view.limits["global"].value == 1
        assert here.view.live == (1, receipts["force"].turn)
        assert here.view.fault is None
