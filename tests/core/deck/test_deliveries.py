"""Deliveries from outside: one turn each, in the order of receipt of their target."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.commands import (
    AddTask,
    AnswerAsk,
    AnswerBlocker,
    BlockTask,
    OnBusy,
    PutHold,
    ReleaseHold,
    Send,
    SetLimit,
    SetStatus,
    StopTurn,
)
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


async def deck_of(here: Bench, *tasks: TaskSpec, agent_limit: int = 5) -> None:
    await here.add(batch_spec("b", tasks, [demo_agent("a", agent_limit)]))


def sent(text: str, delivery: str | None = None, **fields: object) -> Send:
    return Send(to="a", text=text, on_busy=OnBusy.QUEUE, delivery_id=delivery, **fields)


async def test_a_delivery_that_comes_again_with_other_words_is_still_the_first(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await deck_of(here, agent_limit=0)
        first = await here.deck.submit(sent("one", "d1"))
    async with bench(tmp_path) as here:
        again = await here.deck.submit(sent("two", "d1"))
        assert (again.turn, again.state) == (first.turn, TurnState.QUEUED)
        assert (await here.deck.submit(sent("three"))).turn == first.turn + 1
        await here.deck.submit(SetLimit(name="agent:a", value=5))
        await here.puppets.until_begun(first.turn)
        assert here.puppets.assignments[first.turn].prompt == "one"


async def test_a_delivery_is_one_turn_whichever_door_it_comes_by(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await deck_of(here, agent_limit=0)
        first = await here.deck.submit(sent("one", "d1"))
        refused = await here.deck.submit(
            AddTask(task=TaskSpec("n1", "a", prompt="x"), delivery_id="d1")
        )
        assert (refused.accepted, refused.error) == (False, "delivered")
        added = await here.deck.submit(
            AddTask(task=TaskSpec("n2", "a", prompt="x"), delivery_id="d2")
        )
        assert (await here.deck.submit(sent("two", "d2"))).turn == added.turn
        assert list(here.view.turns) == [first.turn, added.turn]


@pytest.mark.parametrize("restart", [False, True])
async def test_a_delivered_task_that_never_gets_a_turn_is_known_again_too(
    tmp_path: Path, restart: bool
) -> None:
    delivered = AddTask(
        task=TaskSpec("n1", "a", prompt="x", depends_on=("T1",)), batch="b", delivery_id="d1"
    )
    again = AddTask(
        task=TaskSpec("n2", "a", prompt="x", depends_on=("T1",)), batch="b", delivery_id="d1"
    )
    async with bench(tmp_path) as here:
        await deck_of(here, TaskSpec("T1", "a"))
        await here.end(1, TurnState.FAILED)
        first = await here.deck.submit(delivered)
        assert here.view.tasks[2].status is Status.FAILED
        if not restart:
            assert (await here.deck.submit(again)).message == first.message
    async with bench(tmp_path) as here:
        assert (await here.deck.submit(again)).message == first.message
        assert [task.key for task in here.view.tasks.values()] == ["T1", "n1"]


async def test_a_held_turn_keeps_its_place_in_its_target_and_other_targets_go_on(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await deck_of(here, agent_limit=0)
        first, second, other = [
            await here.deck.submit(sent(text, target=target))
            for text, target in (("1", "x"), ("2", "x"), ("3", "y"))
        ]
        await here.deck.submit(PutHold(what=f"#{first.turn}"))
        await here.deck.submit(SetLimit(name="agent:a", value=5))
        await here.end(other.turn)
        assert here.view.running == 0, "the second waits for the first, held or not"
        await here.deck.submit(ReleaseHold(what=f"#{first.turn}"))
        await here.end(first.turn)
        await here.puppets.until_begun(second.turn)
        assert here.puppets.begun == [other.turn, first.turn, second.turn]


async def test_an_unauthorised_turn_that_is_deleted_lets_its_target_go_on(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await deck_of(here)
        first = await here.deck.submit(sent("1", target="x", unauthorised=True))
        second = await here.deck.submit(sent("2", target="x"))
        other = await here.deck.submit(sent("3", target="y"))
        assert here.view.live == (other.turn,)
        await here.deck.submit(StopTurn(turn=first.turn, only_queued=True))
        await here.puppets.until_begun(second.turn)
        assert here.view.turns[first.turn].state is TurnState.CANCELLED


async def test_messages_and_tasks_of_a_target_are_one_line(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await deck_of(here)
        one = AddTask(task=TaskSpec("n1", "a", prompt="x", target="x"), unauthorised=True)
        first = await here.deck.submit(one)
        second = await here.deck.submit(sent("2", target="x", priority=1000))
        third = await here.deck.submit(AddTask(task=TaskSpec("n3", "a", prompt="x", target="x")))
        assert here.view.running == 0
        await here.deck.submit(ReleaseHold(what=f"#{first.turn}"))
        for turn in (first.turn, second.turn, third.turn):
            await here.end(turn)
        assert here.puppets.begun == [first.turn, second.turn, third.turn]


async def test_control_waits_for_no_turn_however_many_stand_in_front(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await deck_of(here, *(TaskSpec(f"T{n}", "a") for n in range(1, 5)), agent_limit=2)
        await here.puppets.until_begun(1, 2)
        here.puppets.ask(1, "which way?")
        await here.puppets.until_begun(3)
        head = await here.deck.submit(sent("head", target="x", unauthorised=True))
        for number in range(50):
            await here.deck.submit(sent(str(number), target="x", priority=1000))
        begun = list(here.puppets.begun)
        (ask,) = here.view.asks.values()
        for command in (
            AnswerAsk(ask=ask.id, answer="left"),
            BlockTask(task="T4", question="when?"),
            AnswerBlocker(task="T4", answer="now"),
            SetStatus(task="T4", status=Status.DONE),
            SetLimit(name="global", value=3),
            StopTurn(turn=head.turn + 1),
        ):
            receipt = await here.deck.submit(command)
            assert receipt.accepted, receipt.message
        assert here.puppets.begun == begun, "all of it while every slot was taken"
        assert here.view.tasks[4].status is Status.DONE
        await here.deck.submit(ReleaseHold(what=f"#{head.turn}"))
        await here.deck.submit(StopTurn(turn=2))
        await here.puppets.until_stopped(2)
