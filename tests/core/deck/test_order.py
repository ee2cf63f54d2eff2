"""Turns of one target, and of one conversation, run one at a time, in the order of receipt."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.commands import OnBusy, RetryTask, Send, SetLimit, SetStatus
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


async def test_a_retry_waits_for_the_message_at_work_in_its_conversation(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 5)]))
        await here.end(1, TurnState.FAILED)
        message = await here.deck.submit(Send(to="T1", text="what went wrong?"))
        assert message.state is TurnState.RUNNING
        retry = await here.deck.submit(RetryTask(task="T1"))
        assert here.view.live == (message.turn,)
        await here.end(message.turn or 0)
        assert here.view.live == (retry.turn,)


async def test_a_retry_waits_for_a_later_turn_of_its_target_that_has_begun(tmp_path: Path) -> None:
    tasks = [TaskSpec(f"T{n}", "a", target="issue-1") for n in (1, 2, 3)]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 5)]))
        await here.end(1, TurnState.FAILED)
        assert here.view.live == (2,)
        retry = await here.deck.submit(RetryTask(task="T1"))
        assert here.view.live == (2,)
        await here.end(2)
        assert here.view.live == (retry.turn,), "before T3, which was received later"


async def test_a_turn_put_back_lets_the_one_before_it_go_first(tmp_path: Path) -> None:
    tasks = [TaskSpec(f"T{n}", "a" if n == 1 else "other", target="issue-1") for n in (1, 2)]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 5), demo_agent("other", 5)]))
        await here.end(1, TurnState.FAILED)
        retry = await here.deck.submit(RetryTask(task="T1"))
        await here.end(2, TurnState.FAILED, surroundings="agent", error="no such program")
        assert here.view.live == (retry.turn,)


async def test_the_database_refuses_a_second_turn_of_a_conversation(tmp_path: Path) -> None:
    import sqlite3

    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 5)]))
        await here.end(1, TurnState.FAILED)
        await here.deck.submit(Send(to="T1", text="what went wrong?"))
        await here.deck.submit(SetLimit(name="agent:a", value=10))
        retry = await here.deck.submit(RetryTask(task="T1"))
        raw = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", timeout=5)
        with raw:
            changed = raw.execute("UPDATE turns SET state = 1 WHERE id = ?", (retry.turn,))
        raw.close()
        assert changed.rowcount == 0


async def test_messages_of_a_conversation_are_served_in_order_one_at_a_time(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 5)]))
        sent = [
            await here.deck.submit(Send(to="T1", text=text, on_busy=OnBusy.QUEUE))
            for text in ("first", "second", "third")
        ]
        for turn in (1, *(receipt.turn or 0 for receipt in sent)):
            assert here.view.live == (turn,)
            await here.end(turn)


async def test_what_needs_a_done_task_waits_again_once_that_is_set_back(tmp_path: Path) -> None:
    tasks = [TaskSpec("T0", "a"), TaskSpec("T1", "a"), TaskSpec("T2", "a", depends_on=("T0",))]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        await here.deck.submit(SetStatus(task="T0", status=Status.MERGED))
        await here.until(lambda view: not view.turns[3].depends_on)
        await here.deck.submit(SetStatus(task="T0", status=Status.READY))
        assert here.view.turns[3].depends_on == (1,)
