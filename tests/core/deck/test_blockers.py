"""Questions in the way of a task: asked by people and by agents, answered once, told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.agents.adapter import Question
from batchdeck.core.commands import (
    AnswerAsk,
    AnswerBlocker,
    BlockTask,
    Reconcile,
    SetLimit,
    SetStatus,
)
from batchdeck.core.model.blocker import BlockerState
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.gates import evaluate, shut
from tests.support.builders import NOW, batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


async def blocked(here: Bench, *questions: str) -> None:
    """T1 is queued, and waits for answers; nothing else runs."""
    await here.deck.submit(SetLimit(name="global", value=0))
    await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
    for question in questions:
        receipt = await here.deck.submit(BlockTask(task="T1", question=question, by="op"))
        assert receipt.accepted, receipt.message
    await here.deck.submit(SetLimit(name="global", value=4))


async def requeued(here: Bench) -> int:
    events = await here.deck.events(0, 1000)
    return sum(event.kind == "reconcile.requeued" for event in events)


async def test_a_blocked_task_waits_and_says_so_until_it_is_answered(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await blocked(here, "which port?")
        turn = here.view.turns[1]
        assert (turn.state, here.view.tasks[1].status) == (TurnState.QUEUED, Status.BLOCKED)
        (gate,) = shut(evaluate(turn, here.view, NOW))
        assert gate.name is GateName.DEPENDS_ON
        await here.deck.submit(AnswerBlocker(task="T1", answer="8080"))
        await here.puppets.until_begun(1)
        assert not here.view.blockers


async def test_every_open_question_must_be_answered(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await blocked(here, "one?", "two?")
        unclear = await here.deck.submit(AnswerBlocker(task="T1", answer="x"))
        assert (unclear.error, "1, 2" in unclear.message) == ("ambiguous", True)
        await here.deck.submit(AnswerBlocker(task="T1", answer="x", blocker=2))
        assert here.view.tasks[1].status is Status.BLOCKED
        await here.deck.submit(AnswerBlocker(task="T1"))
        await here.puppets.until_begun(1)


async def test_blockers_outlive_the_supervisor(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await blocked(here, "which port?")
    async with bench(tmp_path) as here:
        (blocker,) = here.view.blockers.values()
        assert (blocker.question, blocker.state) == ("which port?", BlockerState.OPEN)
        assert here.puppets.begun == []
        await here.deck.submit(AnswerBlocker(task="b/T1", answer="8080"))
        await here.puppets.until_begun(1)


async def test_a_question_of_an_agent_is_a_blocker_of_its_task(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "left or right?", "left", "right")
        await here.until(lambda view: view.blockers)
        wrong = await here.deck.submit(AnswerBlocker(task="T1", answer="up"))
        assert (wrong.exit_code, "left, right" in wrong.message) == (2, True)
        receipt = await here.deck.submit(AnswerBlocker(task="T1", answer="left"))
        assert receipt.turn == 2
        await here.puppets.until_begun(2)
        assert not here.view.asks
        assert not here.view.blockers


async def test_an_answer_waits_while_a_person_still_blocks_the_task(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "which way?")
        await here.until(lambda view: view.asks)
        await here.deck.submit(BlockTask(task="T1", question="is it allowed?"))
        await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        assert here.view.turns[2].state is TurnState.QUEUED
        await here.deck.submit(AnswerBlocker(task="T1", answer="yes"))
        await here.puppets.until_begun(2)


@pytest.mark.parametrize(
    ("answer", "fits"),
    [('{"port": 80}', True), ('{"port": "x"}', False), ("80", False), ("no json", False)],
)
async def test_an_answer_is_held_against_the_schema_of_the_question(
    tmp_path: Path, answer: str, fits: bool
) -> None:
    schema = '{"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}'
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        here.puppets.end(1, TurnState.WAITING, question=Question("where?", schema=schema))
        await here.until(lambda view: view.asks)
        receipt = await here.deck.submit(AnswerAsk(ask=1, answer=answer))
        assert receipt.accepted is fits, receipt.message
        if not fits:
            assert "does not fit" in receipt.message
            assert here.view.asks


async def test_a_person_who_moves_the_task_needs_no_answer(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await blocked(here, "which port?")
        await here.deck.submit(SetStatus(task="T1", status=Status.READY))
        await here.puppets.until_begun(1)
        assert not here.view.blockers


async def test_a_task_that_was_only_set_to_blocked_is_never_taken_up_by_itself(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await blocked(here, "which port?")
        await here.deck.submit(AnswerBlocker(task="T1", answer="8080"))
        await here.puppets.until_begun(1)
        await here.deck.submit(SetStatus(task="T1", status=Status.BLOCKED))
        await here.deck.submit(Reconcile())
        assert here.view.tasks[1].status is Status.BLOCKED, "the old answer is spent"
        assert await requeued(here) == 0


async def test_a_task_that_is_blocked_while_it_runs_goes_on_but_does_not_start_again(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        await here.deck.submit(BlockTask(task="T1", question="which port?"))
        assert here.view.turns[1].state is TurnState.RUNNING
    async with bench(tmp_path) as here:
        assert here.view.turns[1].state is TurnState.QUEUED
        assert here.puppets.begun == []
        await here.deck.submit(AnswerBlocker(task="T1", answer="8080"))
        await here.puppets.until_begun(1)


async def test_a_finished_task_cannot_be_blocked(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.end(1)
        receipt = await here.deck.submit(BlockTask(task="T1", question="why?"))
        assert (receipt.exit_code, receipt.message) == (3, "T1 is DONE, and cannot be blocked.")
        assert not here.view.blockers
