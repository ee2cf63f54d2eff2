"""More turns end in one round than stay in memory: every one of them is written all the same."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.commands import AddBatch, StopTurn
from batchdeck.core.deck.letters import Ended
from batchdeck.core.model.batch import BatchState, OnError
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.core.deck.writer import Writer
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import PATIENCE, bench

KEPT = 3
MANY = 10


def with_little_memory(*tasks: TaskSpec, on_error: OnError) -> Writer:
    writer = Writer({})
    spec = batch_spec("b", tasks, [demo_agent("a", 1)], on_error=on_error)
    assert writer.command(AddBatch(spec=spec), places={}, known={}) is not None
    writer.state.kept_ended = KEPT
    return writer


def assert_all_is_over(writer: Writer) -> None:
    stored = writer.stored()
    assert {turn.state for turn in stored.turns.values()} == {
        TurnState.FAILED,
        TurnState.CANCELLED,
    }
    assert len(writer.state.turns) == KEPT, "and memory has the latest alone"
    writer.reopen()
    assert not writer.state.live, "nothing of it goes on by itself"


def test_a_batch_that_fails_has_no_queued_turn_left_on_disk() -> None:
    tasks = [TaskSpec(f"T{n}", "a") for n in range(MANY)]
    writer = with_little_memory(*tasks, on_error=OnError.FAIL)
    writer.end(1, Outcome(TurnState.FAILED, exit_code=1))
    assert writer.state.batches["b"].state is BatchState.FAILED
    assert_all_is_over(writer)


def test_all_that_needed_a_task_that_failed_has_failed_on_disk() -> None:
    needing = [TaskSpec(f"T{n}", "a", depends_on=("P",)) for n in range(MANY)]
    writer = with_little_memory(TaskSpec("P", "a"), *needing, on_error=OnError.SKIP)
    writer.end(1, Outcome(TurnState.FAILED, exit_code=1))
    assert {task.status for task in writer.stored().tasks.values()} == {Status.FAILED}
    assert_all_is_over(writer)


@pytest.mark.anyio
async def test_whoever_waits_for_a_stop_is_told_the_end_though_many_others_end_with_it(
    tmp_path: Path,
) -> None:
    receipts = []
    async with bench(tmp_path) as here:
        here.deck.memory.state.kept_ended = 1
        tasks = [TaskSpec(f"T{n}", "a") for n in range(MANY)]
        await here.add(batch_spec("b", tasks, [demo_agent("a", MANY)], {"global": MANY}))
        await here.puppets.until_begun(*range(1, MANY + 1))
        here.puppets.when_stopped(1, TurnState.SUCCEEDED)

        async def stop() -> None:
            receipts.append(await here.deck.submit(StopTurn(turn=1)))

        attempts = {turn: here.view.turns[turn].attempt or "" for turn in here.view.live}
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(stop)
                await here.until(lambda view: view.turns[1].state is TurnState.STOPPING)
                for turn, attempt in attempts.items():
                    here.deck.post(Ended(turn, attempt, Outcome(TurnState.SUCCEEDED, exit_code=0)))
    assert [receipt.message for receipt in receipts] == ["#1 succeeded"]
