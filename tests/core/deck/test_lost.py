"""A turn whose process was lost is never done by itself: a person is asked, or was before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.commands import AnswerAsk, OnBusy, RetryTask, Send, SetStatus
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import AttemptEnd, TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


def spec(count: int = 2, **fields: Any):
    tasks = [TaskSpec(f"T{n}", "a") for n in range(1, count + 1)]
    return batch_spec("b", tasks, [demo_agent("a", 1)], **fields)


async def lose(here: Bench, turn: int) -> None:
    await here.end(turn, TurnState.LOST, end=AttemptEnd.LOST, exit_code=None, error="lost: died")


async def test_a_lost_turn_is_asked_about_and_its_task_waits(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await lose(here, 1)
        (ask,) = here.view.asks.values()
        assert ask.question == "#1 was lost (lost: died): retry or fail?"
        assert here.view.turns[1].state is TurnState.LOST
        assert here.view.tasks[1].status is Status.BLOCKED
        await here.puppets.until_begun(2)
        assert here.view.batches["b"].state is BatchState.RUNNING


async def test_a_turn_of_an_acp_agent_whose_supervisor_ended_is_asked_about(
    tmp_path: Path,
) -> None:
    agent = Agent("a", AgentKind.ACP, command=("x",))
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [agent]))
        await here.puppets.until_begun(1)
    async with bench(tmp_path) as here:
        (ask,) = here.view.asks.values()
        assert "its supervisor ended, and its process with it" in ask.question
        assert here.view.turns[1].state is TurnState.LOST


async def test_answered_with_retry_it_begins_again_at_its_old_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3))
        await lose(here, 1)
        answered = await here.deck.submit(AnswerAsk(ask=1, answer="retry", by="op"))
        assert answered.accepted
        assert here.view.asks == {}
        again = here.view.turns[answered.turn or 0]
        assert again.position == here.view.turns[1].position
        await here.end(2)
        await here.end(again.id)
        assert here.puppets.begun[:3] == [1, 2, again.id]
        assert here.view.tasks[1].status is Status.DONE


async def test_answered_with_fail_its_task_has_failed(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await lose(here, 1)
        assert (await here.deck.submit(AnswerAsk(ask=1, answer="fail", by="op"))).accepted
        assert here.view.tasks[1].status is Status.FAILED
        assert here.view.tasks[1].error == "lost: died"
        assert here.view.batches["b"].state is BatchState.COMPLETED_WITH_ERRORS


async def test_a_retry_of_its_task_answers_the_question(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await lose(here, 1)
        again = await here.deck.submit(RetryTask(task="T1"))
        assert again.accepted
        assert here.view.asks == {}
        await here.end(again.turn or 0)
        assert here.view.batches["b"].state is BatchState.COMPLETED


async def test_a_persons_word_about_the_task_closes_the_question(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await lose(here, 1)
        await here.deck.submit(SetStatus(task="T1", status=Status.DONE))
        assert here.view.asks == {}
        assert here.view.batches["b"].state is BatchState.COMPLETED


async def test_the_question_survives_a_restart(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await lose(here, 1)
    async with bench(tmp_path) as here:
        assert here.view.turns[1].state is TurnState.LOST
        again = await here.deck.submit(AnswerAsk(ask=1, answer="retry"))
        await here.end(again.turn or 0)
        assert here.view.tasks[1].status is Status.DONE


async def test_with_retry_crashes_alone_never_use_a_task_up(tmp_path: Path) -> None:
    async with bench(tmp_path, on_lost="retry") as here:
        await here.add(spec(1, max_attempts=1))
        for _ in range(3):
            await lose(here, here.view.tasks[1].turn or 0)
            assert here.view.asks == {}
        await lose(here, here.view.tasks[1].turn or 0)
        assert here.view.tasks[1].status is Status.BLOCKED, "after three a person should look"
        assert here.view.tasks[1].attempts == 0
        assert len(here.view.asks) == 1


async def test_with_fail_a_lost_task_has_failed(tmp_path: Path) -> None:
    async with bench(tmp_path, on_lost="fail") as here:
        await here.add(spec(1))
        await lose(here, 1)
        assert here.view.tasks[1].status is Status.FAILED
        assert here.view.asks == {}


async def test_where_nobody_answers_a_lost_task_has_failed(tmp_path: Path) -> None:
    async with bench(tmp_path, no_input=True) as here:
        await here.add(spec(1))
        await lose(here, 1)
        assert here.view.batches["b"].state is BatchState.COMPLETED_WITH_ERRORS


async def test_a_lost_message_is_sent_again_in_its_own_words(tmp_path: Path) -> None:
    async with bench(tmp_path, on_lost="retry") as here:
        await here.add(spec(1))
        await here.end(1)
        sent = await here.deck.submit(Send(to="a", text="what now?", on_busy=OnBusy.QUEUE))
        await lose(here, sent.turn or 0)
        await here.puppets.until_begun(3)
        assert here.puppets.assignments[3].prompt == "what now?"
        assert here.view.turns[3].conversation == here.view.turns[sent.turn or 0].conversation


async def test_a_demo_turn_that_crashes_interrupt_again_and_again_is_asked_about(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await here.puppets.until_begun(1)
    for _ in range(3):
        crashed(tmp_path)
        async with bench(tmp_path) as here:
            await here.puppets.until_begun(1)
    crashed(tmp_path)
    async with bench(tmp_path) as here:
        assert here.view.turns[1].state is TurnState.LOST
        assert [ask.turn for ask in here.view.asks.values()] == [1]


async def test_leaving_in_order_again_and_again_uses_nothing_up(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await here.puppets.until_begun(1)
    for _ in range(5):
        async with bench(tmp_path) as here:
            await here.puppets.until_begun(1)
            assert here.view.live == (1,)


def crashed(tmp_path: Path) -> None:
    """As if the last supervisor had not stopped in order."""
    import sqlite3

    raw = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
    raw.execute("UPDATE facts SET value = '0' WHERE key = 'stopped_in_order'")
    raw.close()
