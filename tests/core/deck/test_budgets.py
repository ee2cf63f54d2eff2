"""What attempts use is added up once, for good; a budget that is used up warns or closes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.commands import PutHold, ReleaseHold, RetryTask, Send
from batchdeck.core.deck.handling import parts
from batchdeck.core.deck.looking import look
from batchdeck.core.model.budget import Spent, TurnSpent
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.rules.gates import evaluate, shut
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


def spec(count: int = 3, agent_limit: int = 1, **budget: Any):
    tasks = [TaskSpec(f"T{n}", "a") for n in range(1, count + 1)]
    return batch_spec("b", tasks, [demo_agent("a", agent_limit)], budget=budget or None)


async def test_what_attempts_use_is_added_up_and_what_nobody_knows_is_no_zero(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3))
        await here.end(1, tokens_in=100, tokens_out=20, cost=0.5)
        await here.end(2, TurnState.FAILED, tokens_in=10, tokens_out=0)
        await here.end(3)
        sums = Spent(tokens=130, money=0.5, unknown=1, unpriced=2, attempts=3)
        assert here.view.spent == {"agent:a": sums, "batch:b": sums}
    async with bench(tmp_path) as here:
        assert here.view.spent["agent:a"] == sums, "kept, and not counted anew"


async def test_what_a_session_has_cost_so_far_counts_once(tmp_path: Path) -> None:
    """Over a restart too; a smaller sum is a new count, and so is that of another session."""
    said = [("s", 0.5), ("s", 0.75), ("s", 0.25), ("t", 0.3), (None, 0.1), ("t", 0.4)]
    own = []
    for number, (session, total) in enumerate(said, 1):
        async with bench(tmp_path) as here:
            if number == 1:
                await here.add(spec(1))
            else:
                await here.deck.submit(Send(to="T1", text="more"))
            await here.end(number, session=session, session_cost=total)
            own.append((await here.deck.spent(number)).turn.money)
            money = here.view.spent["agent:a"].money
    assert own == [0.5, 0.25, 0.25, 0.3, 0.1, 0.1]
    assert money == pytest.approx(1.5)


async def test_a_turn_and_its_task_say_what_they_used_by_their_attempts(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(2, agent_limit=2))
        await here.end(1, TurnState.FAILED, tokens_in=100, tokens_out=20, cost=0.5)
        await here.deck.submit(RetryTask(task="T1"))
        await here.end(3, tokens_in=10, tokens_out=0)
        retried = await here.deck.spent(3)
        assert retried.turn == Spent(tokens=10, unpriced=1, attempts=1)
        assert retried.task == Spent(tokens=130, money=0.5, unpriced=1, attempts=2)
        assert (await here.deck.spent(2)).turn == Spent(), "it is still at work"
        assert await here.deck.spent(99) == TurnSpent(Spent())
    with look(DeckPaths(tmp_path / ".batchdeck")) as looking:
        found = looking.view(10, spending=True).spent
        assert (found["turn:3"], found["task:1"]) == (retried.turn, retried.task)
        assert "turn:2" not in found


async def test_a_hard_budget_that_is_used_up_starts_nothing_more_and_stops_nothing(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(4, agent_limit=2, tokens=100, hard=True))
        await here.puppets.until_begun(1, 2)
        await here.end(1, tokens_in=90, tokens_out=20)
        view = here.view
        assert view.live == (2,)
        (gate,) = shut(evaluate(view.turns[3], view, view.at_ms))[:1]
        assert (gate.name, gate.subject) == (GateName.BUDGET, "batch:b")
        assert "budget.reached" in await here.kinds()


async def test_a_hard_budget_that_is_used_up_stays_so_when_many_more_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_AT_ONCE", 3)
    async with bench(tmp_path) as here:
        await here.add(spec(2, tokens=10, hard=True))
        await here.end(1, tokens_in=10, tokens_out=10)
        await here.add(spec(9, tokens=10, hard=True))
        assert len(here.view.tasks) == 9
        assert here.view.live == ()
        await here.deck.submit(ReleaseHold(what="budget:b"))
        assert here.view.live == (), "20 are used, and 20 allowed"
        await here.deck.submit(ReleaseHold(what="budget:b"))
        assert here.view.live == (2,)


async def test_a_person_allows_as_much_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3, money=1.0, hard=True))
        await here.end(1, cost=1.5)
        assert here.view.live == ()
        raised = await here.deck.submit(ReleaseHold(what="budget:b", by="op"))
        assert raised.message == "b may use 2 times its budget now"
        assert here.view.live == (2,)
        assert here.view.budgets["batch:b/money"].limit == 2.0
        await here.end(2, cost=0.5)
        assert here.view.live == ()


async def test_a_soft_budget_only_says_so_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3, tokens=10))
        await here.end(1, tokens_in=10, tokens_out=0)
        await here.end(2, tokens_in=10, tokens_out=0)
        await here.puppets.until_begun(3)
        assert (await here.kinds()).count("budget.reached") == 1


async def test_a_closed_batch_stays_closed_over_a_restart_and_a_hold(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3, tokens=10, hard=True))
        await here.end(1, tokens_in=10, tokens_out=0)
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="batch:b"))
        await here.deck.submit(ReleaseHold(what="batch:b"))
        assert here.view.live == ()
        await here.deck.submit(ReleaseHold(what="budget:b"))
        assert here.view.live == (2,)


async def test_the_file_with_another_budget_sets_it_anew(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(3, tokens=10, hard=True))
        await here.end(1, tokens_in=10, tokens_out=0)
        await here.add(spec(3, tokens=10, hard=True))
        assert here.view.live == (), "the same file changes nothing"
        await here.add(spec(3, tokens=50, hard=True))
        assert here.view.live == (2,)
        await here.end(2, tokens_in=90, tokens_out=0)
        await here.add(spec(3))
        assert here.view.budgets == {}
        assert here.view.live == (3,)


async def test_a_budget_cannot_be_held(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1, tokens=10))
        refused = await here.deck.submit(PutHold(what="budget:b"))
        assert not refused.accepted
        assert "batchdeck hold batch:b" in refused.message
        nothing = await here.deck.submit(ReleaseHold(what="budget:c"))
        assert nothing.error == "not_found"
