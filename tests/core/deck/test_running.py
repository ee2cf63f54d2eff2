"""Turns are claimed under their limits, run, end, and decide their tasks and their batch."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.commands import (
    AddBatch,
    Drain,
    PutHold,
    ReleaseHold,
    ResumeBatch,
    RetryTask,
    SetLimit,
    SetStatus,
    StopTurn,
)
from batchdeck.core.model.batch import BatchState, OnError
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Puppets, bench

pytestmark = pytest.mark.anyio


def spec(count: int = 3, agent_limit: int | None = 10, limits=None, **fields):
    tasks = fields.pop("tasks", [TaskSpec(f"T{n}", "a") for n in range(1, count + 1)])
    return batch_spec("b", tasks, [demo_agent("a", agent_limit)], limits, **fields)


def status_of(view, key: str) -> Status:
    return next(task for task in view.tasks.values() if task.key == key).status


async def test_no_more_turns_run_than_each_limit_allows(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(9, limits={"batch:b": 3}))
        assert here.view.live == (1, 2, 3)
        await here.end(2)
        assert here.view.live == (1, 3, 4)


async def test_an_agents_limit_leaves_the_others_free(tmp_path: Path) -> None:
    tasks = [TaskSpec("A1", "a"), TaskSpec("A2", "a"), TaskSpec("B1", "other")]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1), demo_agent("other", 1)]))
        assert here.view.live == (1, 3)


async def test_the_lane_binds_while_the_task_is_already_in_progress(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3, limits={"status:b/READY": 1}))
        assert here.view.live == (1,)
        assert status_of(here.view, "T1") is Status.IN_PROGRESS
        assert here.view.running_by["status:b/READY"] == 1


async def test_each_task_counts_against_its_own_status(tmp_path: Path) -> None:
    ready = [TaskSpec(f"R{n}", "a") for n in range(4)]
    begun = [TaskSpec(f"P{n}", "a", status=Status.IN_PROGRESS) for n in range(3)]
    limits = {"batch:b": 8, "status:b/READY": 4, "status:b/IN_PROGRESS": 1}
    async with bench(tmp_path) as here:
        await here.add(spec(tasks=[*ready, *begun], limits=limits))
        assert here.view.running_by["status:b/READY"] == 4
        assert here.view.running_by["status:b/IN_PROGRESS"] == 1


async def test_raising_a_limit_starts_more_in_the_same_call(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(4, agent_limit=1))
        assert here.view.running == 1
        await here.deck.submit(SetLimit(name="agent:a", value=3))
        assert here.view.running == 3


async def test_lowering_a_limit_stops_nothing_and_admits_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(6))
        await here.deck.submit(SetLimit(name="agent:a", value=1))
        assert here.view.running == 4
        for turn in (1, 2, 3):
            await here.end(turn)
        assert here.view.live == (4,)
        await here.end(4)
        assert here.view.live == (5,)


async def test_a_limit_of_zero_is_closed(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec(2))
        assert here.view.running == 0


async def test_a_deck_limit_nobody_set_follows_the_batchs_wish(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(9, limits={"batch:b": 7}))
        assert here.view.limits["global"].value == 7
        assert here.view.running == 7


async def test_a_deck_limit_somebody_set_wins(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=2))
        await here.add(spec(9, limits={"batch:b": 7}))
        assert here.view.running == 2


async def test_a_batch_of_successes_is_completed(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2))
        await here.end(1)
        await here.end(2)
        assert here.view.batches["b"].state is BatchState.COMPLETED
        assert status_of(here.view, "T2") is Status.DONE


async def test_events_tell_a_turns_life_in_order(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await here.end(1)
        kinds = [kind for kind in await here.kinds() if not kind.startswith("limit")]
        assert kinds == [
            "batch.started",
            "turn.queued",
            "turn.claimed",
            "task.status",
            "turn.started",
            "attempt.ended",
            "turn.finished",
            "task.status",
            "batch.finished",
        ]


async def test_a_finished_batch_tells_its_results_in_batch_order(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2))
        await here.end(2, text="second")
        await here.end(1, text="first")
        finished = (await here.deck.events(-1, 1))[0]
        results = finished.fields["results"]
        assert [(r["task"], r["output"]) for r in results] == [("T1", "first"), ("T2", "second")]


async def test_skip_goes_on_and_the_batch_has_errors(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2))
        await here.end(1, TurnState.FAILED, error="it broke")
        await here.end(2)
        assert here.view.batches["b"].state is BatchState.COMPLETED_WITH_ERRORS
        assert status_of(here.view, "T1") is Status.FAILED


async def test_fail_lets_what_runs_finish_and_leaves_the_rest_ready(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(4, agent_limit=2, on_error=OnError.FAIL))
        await here.end(1, TurnState.FAILED, error="no")
        assert here.view.live == (2,)
        await here.end(2)
        assert here.view.batches["b"].state is BatchState.FAILED
        assert status_of(here.view, "T3") is Status.READY


async def test_a_failed_batch_can_be_resumed(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3, agent_limit=1, on_error=OnError.FAIL))
        await here.end(1, TurnState.FAILED)
        receipt = await here.deck.submit(ResumeBatch(batch="b"))
        assert receipt.accepted
        assert here.view.batches["b"].state is BatchState.RUNNING
        assert here.view.running == 1


async def test_a_dependency_opens_when_what_it_needs_is_done(tmp_path: Path) -> None:
    tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a", depends_on=("T1",))]
    async with bench(tmp_path) as here:
        await here.add(spec(tasks=tasks))
        assert here.view.live == (1,)
        await here.end(1)
        assert here.view.live == (2,)


async def test_those_that_need_a_failed_task_fail_without_a_turn(tmp_path: Path) -> None:
    tasks = [
        TaskSpec("T1", "a"),
        TaskSpec("T2", "a", depends_on=("T1",)),
        TaskSpec("T3", "a", depends_on=("T2",)),
    ]
    async with bench(tmp_path) as here:
        await here.add(spec(tasks=tasks))
        await here.end(1, TurnState.FAILED)
        assert here.puppets.begun == [1]
        errors = {task.key: task.error for task in here.view.tasks.values()}
        assert errors["T2"] == "dependency T1 failed"
        assert errors["T3"] == "dependency T2 failed"
        assert here.view.batches["b"].state is BatchState.COMPLETED_WITH_ERRORS


async def test_a_retry_that_succeeds_brings_back_just_its_dependants(tmp_path: Path) -> None:
    tasks = [
        TaskSpec("T1", "a"),
        TaskSpec("T2", "a", depends_on=("T1",)),
        TaskSpec("T3", "a", depends_on=("T2",)),
    ]
    async with bench(tmp_path) as here:
        await here.add(spec(tasks=tasks))
        await here.end(1, TurnState.FAILED)
        receipt = await here.deck.submit(RetryTask(task="T1"))
        assert receipt.turn is not None
        retried = here.view.turns[receipt.turn]
        assert retried.lane is Status.FAILED
        await here.end(receipt.turn)
        assert here.puppets.assignments[receipt.turn].number == 1, "a person's retry counts anew"
        await here.until(lambda view: status_of(view, "T2") is Status.IN_PROGRESS)
        assert status_of(here.view, "T3") is Status.READY


async def test_a_failure_is_tried_again_at_its_old_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2, agent_limit=1, max_attempts=2))
        await here.end(1, TurnState.FAILED)
        again = next(t for t in here.view.turns.values() if t.trigger == "retry")
        assert again.position == 1
        assert again.not_before_ms > here.view.at_ms
        assert (again.attempts, here.view.tasks[1].attempts) == (1, 1)
        assert here.view.batches["b"].state is BatchState.RUNNING


async def test_a_held_deck_admits_nothing_until_it_is_released(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(spec(1))
        assert here.view.mode == "held"
        assert here.view.running == 0
        await here.deck.submit(ReleaseHold(what="deck"))
        assert here.view.running == 1


@pytest.mark.parametrize("what", ["agent:a", "batch:b", "#1"])
async def test_what_is_held_does_not_start(tmp_path: Path, what: str) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec(1))
        assert (await here.deck.submit(PutHold(what=what))).accepted
        await here.deck.submit(SetLimit(name="global", value=4))
        assert here.view.running == 0
        await here.deck.submit(ReleaseHold(what=what))
        assert here.view.running == 1


async def test_a_draining_deck_finishes_what_runs(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3, agent_limit=1))
        await here.deck.submit(Drain())
        await here.end(1)
        assert here.view.mode == "draining"
        assert here.view.running == 0


async def test_a_release_on_a_draining_deck_says_what_ends_the_drain(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(Drain())
        for what in ("deck", "drain"):
            refused = await here.deck.submit(ReleaseHold(what=what))
            assert not refused.accepted
            assert "batchdeck drain --off" in refused.message
        await here.deck.submit(PutHold(what="deck"))
        released = await here.deck.submit(ReleaseHold(what="deck"))
        assert released.accepted
        assert "still drains: batchdeck drain --off" in released.message


async def test_a_stopped_task_is_ready_and_held(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await here.puppets.until_begun(1)
        receipt = await here.deck.submit(StopTurn(turn=1, by="op"))
        assert receipt.state is TurnState.CANCELLED
        assert status_of(here.view, "T1") is Status.READY
        following = here.view.turns[2]
        assert following.held_by == "op"
        assert following.position == 1
        assert here.view.running == 0


async def test_stopping_a_queued_turn_ends_its_task_and_signals_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2, agent_limit=1))
        await here.deck.submit(StopTurn(turn=2, by="op"))
        assert here.puppets.begun == [1]
        assert here.view.turns[2].error == "cancelled by op"
        assert status_of(here.view, "T2") is Status.FAILED


async def test_a_stop_that_comes_too_late_is_told_so(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await here.end(1)
        receipt = await here.deck.submit(StopTurn(turn=1))
        assert receipt.error == "gone"


async def test_a_task_done_elsewhere_is_superseded_and_counts_done(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await here.puppets.until_begun(1)
        await here.deck.submit(SetStatus(task="T1", status=Status.DONE))
        await here.until(lambda view: not view.running)
        assert here.view.turns[1].state is TurnState.SUPERSEDED
        assert here.view.batches["b"].state is BatchState.COMPLETED


async def test_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2))
        await here.add(spec(2))
        assert len(here.view.tasks) == 2


async def test_a_begun_task_that_changed_is_refused_and_nothing_happens(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2, agent_limit=1))
        changed = [TaskSpec("T1", "a", prompt="other"), TaskSpec("T2", "a"), TaskSpec("T3", "a")]
        receipt = await here.deck.submit(AddBatch(spec=spec(tasks=changed, agent_limit=1)))
        assert receipt.exit_code == 2
        assert "T1 has begun" in receipt.message
        assert len(here.view.tasks) == 2


async def test_an_unbegun_task_takes_what_its_file_says_now(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2, agent_limit=1))
        changed = [TaskSpec("T1", "a"), TaskSpec("T2", "a", title="better", prompt="new")]
        await here.add(spec(tasks=changed, agent_limit=1))
        await here.end(1)
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].prompt == "new"
        assert here.view.turns[2].title == "better"


async def test_what_its_file_says_now_that_it_needs_comes_first(tmp_path: Path) -> None:
    agents = [demo_agent("a", 2), demo_agent("c", 2)]
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(batch_spec("b", [TaskSpec("T1", "a"), TaskSpec("T2", "a")], agents))
        changed = [TaskSpec("T1", "a"), TaskSpec("T2", "c", depends_on=("T1",))]
        await here.add(batch_spec("b", changed, agents))
        await here.deck.submit(ReleaseHold(what="deck"))
        assert here.view.live == (1,)
        await here.end(1)
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].agent.name == "c"
        await here.end(2)
    async with bench(tmp_path) as here:
        assert (here.view.turns[2].agent, here.view.tasks[2].agent) == ("c", "c")


async def test_an_agent_that_another_active_batch_defines_otherwise_is_refused(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        other = batch_spec("c", [TaskSpec("T1", "a")], [demo_agent("a", 5)])
        receipt = await here.deck.submit(AddBatch(spec=other))
        assert receipt.exit_code == 2
        assert "b" in receipt.message
        assert "c" not in here.view.batches


async def test_failures_of_the_surroundings_hold_the_agent_and_end_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2, agent_limit=1))
        await here.end(1, TurnState.FAILED, surroundings="agent", error="no such program")
        assert here.view.turns[1].state is TurnState.QUEUED
        assert here.view.holds["agent:a"].reason == "no such program"
        assert status_of(here.view, "T1") is Status.READY
        assert here.view.turns[1].attempts == 0
        await here.deck.submit(ReleaseHold(what="agent:a"))
        assert here.view.live == (1,)
        await here.puppets.until_begun(1)
        assert here.puppets.assignments[1].number == 1, "no attempt was spent"


async def test_a_message_to_a_finished_task_changes_nothing_about_it(tmp_path: Path) -> None:
    from batchdeck.core.commands import Send

    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await here.end(1)
        receipt = await here.deck.submit(Send(to="T1", text="and now?"))
        assert receipt.turn is not None
        await here.end(receipt.turn, TurnState.FAILED)
        assert status_of(here.view, "T1") is Status.DONE
        assert here.view.batches["b"].state is BatchState.COMPLETED


async def test_collect_writes_one_record_per_failure_in_batch_order(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3, on_error=OnError.COLLECT, collect_to="errors"))
        await here.end(3, TurnState.FAILED, error="late")
        await here.end(1, TurnState.FAILED, error="early")
        await here.end(2)
        finished = (await here.deck.events(-1, 1))[0]
        records = finished.fields["values"]["errors"]
        assert [(r["task"], r["message"]) for r in records] == [("T1", "early"), ("T3", "late")]


async def test_collect_without_a_failure_writes_an_empty_list(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1, on_error=OnError.COLLECT, collect_to="errors"))
        await here.end(1)
        finished = (await here.deck.events(-1, 1))[0]
        assert finished.fields["values"] == {"errors": []}
        assert here.view.batches["b"].state is BatchState.COMPLETED


async def test_all_ready_tasks_of_ended_batches_make_one_new_batch(tmp_path: Path) -> None:
    from batchdeck.core.commands import GatherReady

    async with bench(tmp_path) as here:
        await here.add(spec(3, agent_limit=1, on_error=OnError.FAIL))
        await here.end(1, TurnState.FAILED)
        receipt = await here.deck.submit(GatherReady())
        assert receipt.batch == "ready-1"
        assert [t.key for t in here.view.tasks.values() if t.batch == "ready-1"] == ["T2", "T3"]
        for turn in (4, 5):
            await here.end(turn)
        assert here.view.batches["ready-1"].state is BatchState.COMPLETED
        assert sum(here.view.task_counts["b"].values()) == 1
    async with bench(tmp_path) as here:
        assert here.view.tasks[2].name == "ready-1/T2"


async def test_without_a_ready_task_nothing_is_gathered(tmp_path: Path) -> None:
    from batchdeck.core.commands import GatherReady

    async with bench(tmp_path) as here:
        await here.add(spec(1))
        receipt = await here.deck.submit(GatherReady())
        assert receipt.accepted
        assert receipt.batch is None
        assert list(here.view.batches) == ["b"]


async def test_a_status_that_was_set_is_the_one_that_is_told(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(
            batch_spec("b", [TaskSpec("T1", "a"), TaskSpec("T2", "a")], [demo_agent("a", 1)])
        )
        told = await here.deck.submit(SetStatus(task="T2", status=Status.DONE))
        assert told.message == "T2 is DONE"


class Late(Puppets):
    """Says only when told that its agent works."""

    def __init__(self) -> None:
        super().__init__()
        self.tell = anyio.Event()

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        begun, control.started = control.started, lambda process: None

        async def say() -> None:
            await self.tell.wait()
            begun(None)

        async with anyio.create_task_group() as saying:
            saying.start_soon(say)
            return await super().run(assignment, control)


async def test_that_an_agent_works_is_written_down_at_once_though_nothing_else_happens(
    tmp_path: Path,
) -> None:
    late = Late()
    async with bench(tmp_path, late, sweep_seconds=600.0) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        await here.deck.submit(SetLimit(name="global", value=3))  # the writer waits again
        revision = here.view.revision
        late.tell.set()
        with anyio.fail_after(5):
            await here.deck.wait_newer(revision)
        assert "turn.started" in await here.kinds()
        here.puppets.end(1)
