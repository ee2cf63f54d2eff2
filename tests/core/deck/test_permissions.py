"""A permission that a running agent wants is an ask: answered once, kept, and taken back."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import (
    AnswerAsk,
    AnswerBlocker,
    BlockTask,
    DefineAgent,
    RemoveAgent,
    RevokeAllowance,
    StopTurn,
)
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.batch import Interrupt
from batchdeck.core.model.permission import Decision, Permission
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.gates import evaluate, shut
from tests.support.builders import batch_spec
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


def acp(name: str) -> Agent:
    return Agent(name, AgentKind.ACP, command=("an-agent",))


def wanted(scope: str = "s") -> Permission:
    return Permission(f"wants to: {scope}\ntool: execute", scope, scope, f"exactly this: {scope}")


@asynccontextmanager
async def working(
    folder: Path, agents: Sequence[str] = ("a",), **options: object
) -> AsyncIterator[Bench]:
    """A deck with one task at work per agent, and one more queued for each."""
    async with bench(folder, **options) as here:
        tasks = [TaskSpec(f"{name}{n}", name) for n in (1, 2) for name in agents]
        spec = batch_spec("b", tasks, map(acp, agents), interrupt=Interrupt.QUIESCE)
        await here.add(spec)
        await here.puppets.until_begun(*range(1, len(agents) + 1))
        yield here


class Waiting:
    """An agent that waits for words about what it wants."""

    def __init__(self, here: Bench, turn: int = 1) -> None:
        self._control = here.puppets.controls[turn]
        self.heard: list[Decision] = []

    async def ask(self, scope: str = "s") -> None:
        self.heard.append(await self._control.ask(wanted(scope)))


@asynccontextmanager
async def asking(here: Bench, *scopes: str, turn: int = 1) -> AsyncIterator[Waiting]:
    """A running agent with open requests; all must have heard a word by the end."""
    agent = Waiting(here, turn)
    before = len(here.view.asks)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for scope in scopes or ("s",):
                tasks.start_soon(agent.ask, scope)
            await here.until(lambda view: len(view.asks) == before + len(scopes or ("s",)))
            yield agent


async def test_it_is_asked_while_its_turn_keeps_running(tmp_path: Path) -> None:
    async with working(tmp_path) as here, asking(here):
        view = here.view
        (ask,) = view.asks.values()
        assert (ask.alive, ask.turn, ask.question) == (True, 1, "wants to: s\ntool: execute")
        assert ask.choices == ("allow once", "allow always", "deny")
        assert view.turns[1].state is TurnState.RUNNING
        assert view.tasks[1].status is Status.IN_PROGRESS
        (kept,) = shut(evaluate(view.turns[2], view, 0))
        assert [holder.turn for holder in kept.holders] == [1], "it keeps its slot"
        await here.deck.submit(AnswerAsk(ask=1, answer="deny"))


async def test_its_answer_is_told_to_the_agent_and_queues_nothing(tmp_path: Path) -> None:
    async with working(tmp_path) as here:
        async with asking(here) as agent:
            turns = len(here.view.turns)
            receipt = await here.deck.submit(AnswerAsk(ask=1, answer="allow once", by="op"))
            assert receipt.message == "allow once: #1 goes on"
        assert agent.heard == [Decision.ALLOW_ONCE]
        assert (len(here.view.turns), here.view.turns[1].state) == (turns, TurnState.RUNNING)
        assert not here.view.asks
        assert not here.view.allowances


async def test_it_cannot_be_answered_twice_nor_with_other_words(tmp_path: Path) -> None:
    async with working(tmp_path) as here, asking(here) as agent:
        refused = await here.deck.submit(AnswerAsk(ask=1, answer="perhaps"))
        assert "allow once, allow always, deny" in refused.message
        await here.deck.submit(AnswerAsk(ask=1, answer="deny"))
        again = await here.deck.submit(AnswerAsk(ask=1, answer="allow once"))
        assert again.error == "not_found"
        await here.until(lambda _: agent.heard)
        assert agent.heard == [Decision.DENY]


async def test_one_agents_open_permission_keeps_nobody_elses_work(tmp_path: Path) -> None:
    async with working(tmp_path, ("a", "c")) as here, asking(here):
        await here.end(2)
        await here.puppets.until_begun(4)
        assert here.view.mode == "running"
        await here.deck.submit(AnswerAsk(ask=1, answer="deny"))


async def test_what_is_always_allowed_is_asked_no_more_not_even_by_the_next_supervisor(
    tmp_path: Path,
) -> None:
    async with working(tmp_path) as here:
        async with asking(here):
            await here.deck.submit(AnswerAsk(ask=1, answer="allow always", by="op"))
        allowed = here.view.allowances[1]
        assert (allowed.agent, allowed.covers, allowed.by) == ("a", "exactly this: s", "op")
    async with bench(tmp_path, on_lost="retry") as here:
        await here.puppets.until_begun(3)
        agent = Waiting(here, 3)
        await agent.ask()
        assert agent.heard == [Decision.ALLOW_ALWAYS]
        assert "permission.used" in await here.kinds()
        async with asking(here, "another", turn=3):
            await here.deck.submit(AnswerAsk(ask=2, answer="deny"))


async def test_what_is_allowed_to_one_agent_is_not_to_another(tmp_path: Path) -> None:
    async with working(tmp_path, ("a", "c")) as here:
        async with asking(here):
            await here.deck.submit(AnswerAsk(ask=1, answer="allow always"))
        async with asking(here, turn=2):
            await here.deck.submit(AnswerAsk(ask=2, answer="deny"))


async def test_allow_always_answers_what_the_agent_asks_alike(tmp_path: Path) -> None:
    async with working(tmp_path) as here, asking(here, "s", "other", "s") as agent:
        await here.deck.submit(AnswerAsk(ask=1, answer="allow always"))
        await here.until(lambda view: len(view.asks) == 1)
        await here.deck.submit(AnswerAsk(ask=2, answer="deny"))
    assert sorted(agent.heard) == ["allow always", "allow always", "deny"]


async def test_an_operator_takes_it_back(tmp_path: Path) -> None:
    async with working(tmp_path) as here:
        async with asking(here):
            await here.deck.submit(AnswerAsk(ask=1, answer="allow always"))
        revoked = await here.deck.submit(RevokeAllowance(allowance=1))
        assert revoked.message == "a asks again before it does this: exactly this: s"
        assert (await here.deck.submit(RevokeAllowance(allowance=1))).error == "not_found"
        async with asking(here):
            await here.deck.submit(AnswerAsk(ask=2, answer="deny"))


async def test_another_program_of_that_name_is_allowed_nothing(tmp_path: Path) -> None:
    async with working(tmp_path) as here:
        async with asking(here):
            await here.deck.submit(AnswerAsk(ask=1, answer="allow always"))
        other = Agent("a", AgentKind.ACP, command=("an-agent",), timeout_seconds=5.0)
        await here.deck.submit(DefineAgent(agent=other, create=False))
        assert here.view.allowances, "it is still the same program"
        other = Agent("a", AgentKind.ACP, command=("another",))
        await here.deck.submit(DefineAgent(agent=other, create=False))
        assert not here.view.allowances


async def test_an_agent_that_is_removed_leaves_no_allowance(tmp_path: Path) -> None:
    async with working(tmp_path) as here:
        async with asking(here):
            await here.deck.submit(AnswerAsk(ask=1, answer="allow always"))
        await here.end(1)
        await here.end(2)
        await here.deck.submit(RemoveAgent(name="a"))
        assert not here.view.allowances
    with sqlite3.connect(tmp_path / ".batchdeck" / "deck.db") as raw:
        assert raw.execute("SELECT count(*) FROM allowances").fetchone() == (0,)


async def test_a_stop_answers_cancelled_before_the_agent_has_ended(tmp_path: Path) -> None:
    async with working(tmp_path) as here:
        async with asking(here) as agent:
            await here.deck.submit(StopTurn(turn=1))
        assert agent.heard == [Decision.CANCELLED]
        assert not here.view.asks
        assert "ask.cancelled" in await here.kinds()


async def test_the_end_of_a_turn_ends_what_it_asked(tmp_path: Path) -> None:
    async with working(tmp_path) as here:
        async with asking(here) as agent:
            await here.end(1)
        assert agent.heard == [Decision.CANCELLED]
        assert not here.view.asks


async def test_a_turn_that_goes_back_to_its_place_asks_nothing_meanwhile(tmp_path: Path) -> None:
    async with working(tmp_path) as here, asking(here):
        here.puppets.end(1, TurnState.FAILED, surroundings="agent", error="gone")
        await here.until(lambda view: view.turns[1].state is TurnState.QUEUED)
        assert not here.view.asks


async def test_after_a_supervisors_death_the_ask_is_settled_with_its_turn(tmp_path: Path) -> None:
    """Nothing is answered twice: what the dead one had asked nobody can answer any more."""
    async with working(tmp_path) as here:
        await here.deck.submit(AnswerAsk(ask=1, answer="none is open"))
        control = here.puppets.controls[1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(control.ask, wanted())
            await here.until(lambda view: view.asks)
            tasks.cancel_scope.cancel()
    async with bench(tmp_path) as here:
        (ask,) = here.view.asks.values()
        assert (ask.alive, ask.choices) == (False, ("retry", "fail"))
        assert here.view.turns[1].state is TurnState.LOST
        assert (await here.deck.submit(AnswerAsk(ask=1, answer="allow once"))).error == "not_found"
    with sqlite3.connect(tmp_path / ".batchdeck" / "deck.db") as raw:
        states = raw.execute("SELECT state, answer FROM asks ORDER BY id").fetchall()
    assert states == [("cancelled", None), ("open", None)]


async def test_a_word_that_no_agent_waits_for_is_refused(tmp_path: Path) -> None:
    async with working(tmp_path) as here, anyio.create_task_group() as tasks:
        tasks.start_soon(here.puppets.controls[1].ask, wanted())
        await here.until(lambda view: view.asks)
        tasks.cancel_scope.cancel()
    async with bench(tmp_path, dispatch=False) as here:
        refused = await here.deck.submit(AnswerAsk(ask=1, answer="allow always"))
        assert (refused.error, refused.exit_code) == ("no_supervisor", 4)
        assert 1 in here.view.asks
        assert not here.view.allowances


async def test_without_anybody_to_ask_the_agent_is_told_so(tmp_path: Path) -> None:
    async with working(tmp_path, no_input=True) as here:
        agent = Waiting(here)
        with anyio.fail_after(10):
            await agent.ask()
        assert agent.heard == [Decision.UNANSWERED]
        assert not here.view.asks


async def test_a_question_about_the_task_is_no_answer_to_the_permission(tmp_path: Path) -> None:
    async with working(tmp_path) as here, asking(here) as agent:
        await here.deck.submit(BlockTask(task="a1", question="sure?"))
        await here.deck.submit(AnswerBlocker(task="a1", answer="sure"))
        assert not agent.heard
        await here.deck.submit(AnswerAsk(ask=1, answer="deny"))
