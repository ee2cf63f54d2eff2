"""An agent that was taken away: what it left is refused in words, and the deck goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.commands import Receipt, RemoveAgent, RetryTask, Send, SetLimit, SetStatus
from batchdeck.core.model.batch import OnError
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio

REMOVED = "Agent 'z' was removed; add it again with batchdeck agent add."


async def remove_z(here: Bench) -> None:
    removed = await here.deck.submit(RemoveAgent(name="z"))
    assert removed.accepted, removed.message


async def test_what_needed_a_task_stays_failed_when_that_is_done_after_all(tmp_path: Path) -> None:
    tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "z", depends_on=("T1",)), TaskSpec("T3", "a")]
    agents = [demo_agent("a", 1), demo_agent("z", 1)]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, agents, on_error=OnError.SKIP))
        await here.end(1, TurnState.FAILED)
        await here.until(lambda view: view.tasks[2].status is Status.FAILED)
        await remove_z(here)
        again = await here.deck.submit(RetryTask(task="T1"))
        assert again.turn is not None
        await here.end(3)
        await here.end(again.turn)
        view = await here.until(lambda view: view.tasks[1].status is Status.DONE)
        assert (view.tasks[2].status, view.tasks[2].error) == (Status.FAILED, "agent z was removed")
        changed = await here.deck.submit(SetLimit(name="global", value=2))
        assert changed.accepted
        assert here.view.fault is None


@pytest.mark.parametrize("state", [TurnState.FAILED, TurnState.SUCCEEDED])
async def test_its_task_is_not_begun_again(tmp_path: Path, state: TurnState) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "z")], [demo_agent("z", 1)]))
        await here.end(1, state)
        await here.until(lambda view: view.tasks[1].status in (Status.FAILED, Status.DONE))
        await remove_z(here)
        before = here.view.tasks[1]
        for command in (SetStatus(task="T1", status=Status.READY), RetryTask(task="T1")):
            answer = await here.deck.submit(command)
            assert not answer.accepted
            assert "itself failed" not in answer.message
        assert here.view.tasks[1] == before


@pytest.mark.parametrize("to", ["c{conversation}", "#{turn}"])
async def test_its_conversations_take_no_more_messages(tmp_path: Path, to: str) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a"), demo_agent("z")]))
        sent = await here.deck.submit(Send(to="z", text="x"))
        assert sent.turn is not None
        await here.end(sent.turn)
        await remove_z(here)
        name = to.format(conversation=sent.conversation, turn=sent.turn)
        answer: Receipt = await here.deck.submit(Send(to=name, text="again"))
        assert (answer.accepted, answer.message) == (False, REMOVED)
