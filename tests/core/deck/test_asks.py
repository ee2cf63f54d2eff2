"""An agent's question frees its slots, keeps its folder, and goes on when a person answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from batchdeck.core.agents.adapter import Outcome, Question
from batchdeck.core.commands import AnswerAsk, OnBusy, ResumeBatch, Send, SetLimit, StopTurn
from batchdeck.core.model.batch import BatchState, OnError
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.gates import evaluate, shut
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


async def asked(here, *choices: str, folder: str | None = None):
    tasks = [
        TaskSpec("T1", "a", folder=folder),
        TaskSpec("T2", "a"),
        TaskSpec("T3", "a", folder=folder),
    ]
    await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
    await here.puppets.until_begun(1)
    here.puppets.ask(1, "which way?", *choices)
    return await here.until(lambda view: view.asks)


async def test_a_question_frees_the_slot_and_blocks_its_task(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        view = await asked(here)
        assert view.turns[1].state is TurnState.WAITING
        assert view.live == (2,)
        assert view.tasks[1].status is Status.BLOCKED


async def test_a_question_keeps_its_folder(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await asked(here, folder=str(tmp_path))
        await here.end(2)
        assert here.view.running == 0
        assert here.view.turns[3].state is TurnState.QUEUED


async def test_a_question_frees_all_four_limits_and_keeps_target_and_conversation(
    tmp_path: Path,
) -> None:
    tasks = [TaskSpec(name, "a", target="x" if name != "T2" else None) for name in ("T1", "T2")]
    tasks.append(TaskSpec("T3", "a", target="x"))
    ones = {"global": 1, "batch:b": 1, "status:b/READY": 1}
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)], ones))
        await here.deck.submit(SetLimit(name="global", value=1))
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "which way?")
        await here.puppets.until_begun(2)
        send = Send(to="T1", text="and?", on_busy=OnBusy.QUEUE)
        message = await here.deck.submit(send)
        await here.end(2)
        view = here.view
        assert view.running == 0
        for turn, gate in ((3, GateName.TARGET), (message.turn, GateName.CONVERSATION)):
            (kept,) = shut(evaluate(view.turns[turn], view, 0))
            assert (kept.name, [holder.turn for holder in kept.holders]) == (gate, [1])


async def test_an_answer_goes_on_at_the_old_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await asked(here)
        receipt = await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        following = here.view.turns[receipt.turn]
        assert (following.position, following.lane) == (1, Status.BLOCKED)
        await here.end(2)
        await here.puppets.until_begun(following.id)
        await here.end(following.id)
        assert here.view.tasks[1].status is Status.DONE


async def test_an_answer_must_be_one_of_the_choices(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await asked(here, "left", "right")
        receipt = await here.deck.submit(AnswerAsk(ask=1, answer="up"))
        assert receipt.exit_code == 2
        assert "left, right" in receipt.message
        assert 1 in here.view.asks


async def test_without_anybody_to_answer_a_question_is_a_failure(tmp_path: Path) -> None:
    async with bench(tmp_path, no_input=True) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "which way?")
        view = await here.until(lambda view: view.batches["b"].state is not BatchState.RUNNING)
        assert "which way?" in (view.tasks[1].error or "")


@pytest.mark.parametrize("max_attempts", [1, 2])
async def test_a_question_of_before_is_a_failure_where_nobody_answers_now(
    tmp_path: Path, max_attempts: int
) -> None:
    tasks, agents = [TaskSpec("T1", "a")], [demo_agent("a", 1)]
    async with bench(tmp_path) as here:
        await here.add(replace(batch_spec("b", tasks, agents), max_attempts=max_attempts))
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "which way?")
        await here.until(lambda view: view.asks)
    async with bench(tmp_path, no_input=True) as here:
        view = await here.until(lambda view: not view.asks)
        assert (view.turns[1].state, view.tasks[1].status) == (TurnState.FAILED, Status.FAILED)
        assert "which way?" in (view.tasks[1].error or "")
        waits = max_attempts > 1
        assert (view.batches["b"].state is BatchState.RUNNING) is waits
        assert view.queued == waits
        if waits:
            assert shut(evaluate(view.turns[2], view, view.turns[2].not_before_ms)) == ()


async def test_a_lost_turn_of_before_has_failed_where_nobody_answers_now(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.end(1, TurnState.LOST)
    async with bench(tmp_path, no_input=True) as here:
        await here.until(lambda view: not view.asks)
        assert here.view.batches["b"].state is BatchState.COMPLETED_WITH_ERRORS


async def test_a_message_that_asked_before_has_failed_where_nobody_answers_now(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.end(1)
        sent = await here.deck.submit(Send(to="a", text="and?", on_busy=OnBusy.QUEUE))
        await here.puppets.until_begun(sent.turn)
        here.puppets.ask(sent.turn, "which way?")
        await here.until(lambda view: view.asks)
    async with bench(tmp_path, no_input=True) as here:
        await here.until(lambda view: not view.asks)
        assert here.view.turns[sent.turn].state is TurnState.FAILED
        assert here.view.tasks[1].status is Status.DONE


async def test_stopping_a_turn_that_waits_closes_its_question(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await asked(here)
        await here.deck.submit(StopTurn(turn=1))
        assert not here.view.asks
        assert here.view.turns[1].state is TurnState.CANCELLED


async def test_as_many_turns_wait_for_a_person_as_the_operator_allows(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="attention", value=1))
        await here.add(
            batch_spec("b", [TaskSpec(f"T{n}", "a") for n in range(3)], [demo_agent("a", 1)])
        )
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "well?")
        await here.until(lambda view: view.asks)
        assert here.view.running == 0
        await here.deck.submit(AnswerAsk(ask=1, answer="yes"))
        assert here.view.running == 1


@pytest.mark.parametrize("for_good", [False, True])
async def test_a_turn_that_waited_for_a_person_and_is_stopped_makes_room_for_another_question(
    tmp_path: Path, for_good: bool
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="attention", value=1))
        tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a")]
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "well?")
        await here.until(lambda view: view.asks)
        await here.deck.submit(StopTurn(turn=1, for_good=for_good))
        assert here.view.live == (2,)


async def test_answering_the_question_of_a_message_leaves_the_finished_task_as_it_is(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.end(1)
        sent = await here.deck.submit(Send(to="#1", text="one more thing"))
        assert sent.turn is not None
        await here.puppets.until_begun(sent.turn)
        here.puppets.ask(sent.turn, "which?")
        await here.until(lambda view: view.asks)
        await here.deck.submit(AnswerAsk(ask=1, answer="this"))
        assert here.view.tasks[1].turn == 1
        assert here.view.tasks[1].status is Status.DONE


async def test_a_turn_that_is_to_stop_and_leaves_a_question_is_cancelled(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        here.puppets._ends[1][1].append(
            Outcome(TurnState.WAITING, question=Question("which?"), exit_code=0)
        )
        await here.deck.submit(StopTurn(turn=1))
        assert here.view.turns[1].state is TurnState.CANCELLED
        assert not here.view.asks


async def test_an_answer_starts_nothing_in_a_batch_that_has_failed(tmp_path: Path) -> None:
    tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "z")]
    agents = [demo_agent("a", 1), demo_agent("z", 1)]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, agents, on_error=OnError.FAIL))
        await here.puppets.until_begun(1, 2)
        here.puppets.ask(1, "which?")
        await here.until(lambda view: view.asks)
        await here.end(2, TurnState.FAILED)
        await here.until(lambda view: view.batches["b"].stopped_admitting)
        answered = await here.deck.submit(AnswerAsk(ask=1, answer="x"))
        assert answered.message == "answered; b has failed, and starts nothing more"
        assert here.view.batches["b"].state is BatchState.FAILED
        assert here.puppets.begun == [1, 2]
        await here.deck.submit(ResumeBatch(batch="b"))
        await here.until(lambda view: view.running == 1)
        assert here.view.tasks[1].status is Status.IN_PROGRESS


async def test_a_stopped_question_leaves_its_task_ready_and_held(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "which?")
        await here.until(lambda view: view.asks)
        await here.deck.submit(StopTurn(turn=1, by="op"))
        task = here.view.tasks[1]
        assert (task.status, here.view.turns[task.turn].held_by) == (Status.READY, "op")
        assert here.view.asks == {}
        assert here.puppets.begun == [1]


@pytest.mark.parametrize("state", ["queued", "running", "waiting"])
async def test_a_cancelled_task_has_failed_whatever_its_turn_did(
    tmp_path: Path, state: str
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        if state == "waiting":
            here.puppets.ask(1, "which?")
            await here.until(lambda view: view.asks)
        if state == "queued":
            await here.deck.submit(StopTurn(turn=1, by="op"))
        turn = here.view.tasks[1].turn
        assert here.view.turns[turn].state == state
        cancelled = await here.deck.submit(StopTurn(turn=turn, for_good=True, by="op"))
        assert cancelled.accepted
        task = here.view.tasks[1]
        assert (task.status, task.error) == (Status.FAILED, "cancelled by op")
        assert here.view.batches["b"].state is BatchState.COMPLETED_WITH_ERRORS


async def test_a_cancelled_task_that_fails_by_itself_meanwhile_is_not_tried_again(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        tasks = [TaskSpec("T1", "a")]
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)], max_attempts=3))
        await here.puppets.until_begun(1)
        here.puppets.when_stopped(1, TurnState.FAILED)
        await here.deck.submit(StopTurn(turn=1, for_good=True, by="op"))
        await here.until(lambda view: not view.live)
        assert here.view.tasks[1].status is Status.FAILED
        assert here.view.queued == 0
