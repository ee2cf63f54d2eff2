"""A used-up account closes for all its agents, is tried by one turn, and opens again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.commands import OnBusy, PutHold, ReleaseHold, Send, StopTurn
from batchdeck.core.deck.cooling import MOST_REFUSALS
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.rules.gates import evaluate, shut
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench
from tests.support.stub_deck import FixedClock

pytestmark = pytest.mark.anyio

SAID = UsageLimit("You've hit your limit", after_seconds=300)


def spec(count: int, limit: int = 1, **fields: Any):
    """Tasks in turn for two agents of one account, and one for an agent of its own."""
    team = [replace(demo_agent(name, limit), account="team") for name in ("a", "b")]
    tasks = [TaskSpec(f"T{n}", "ab"[n % 2]) for n in range(count)]
    tasks.append(TaskSpec("U", "c"))
    return batch_spec("b", tasks, [*team, demo_agent("c", 1)], {"global": 20}, **fields)


async def exhaust(here: Bench, turn: int, limit: UsageLimit = SAID) -> None:
    await here.end(turn, TurnState.FAILED, error="HTTP 429", limited=limit)


async def move(here: Bench, clock: FixedClock, seconds: float) -> None:
    """Time passes, and the deck looks at it."""
    clock.move(round(seconds * 1_000))
    await here.deck.submit(PutHold(what="agent:c"))


async def test_a_used_up_account_closes_for_all_its_agents_and_for_no_other(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, clock=FixedClock()) as here:
        await here.add(spec(4))
        await here.puppets.until_begun(1, 2, 5)
        await exhaust(here, 1)
        await here.end(2)
        view = here.view
        assert view.live == (5,), "T2's agent has a free slot and the same account"
        assert [t.state for t in view.turns.values()].count(TurnState.QUEUED) == 3
        (gate,) = shut(evaluate(view.turns[3], view, view.at_ms))[:1]
        assert (gate.name, gate.subject, gate.frees) == (GateName.COOLDOWN, "team", "in 5 min")
        assert view.cooldowns["team"].reason == "You've hit your limit"


async def test_what_was_said_of_a_limit_shows_no_secret(tmp_path: Path) -> None:
    agent = replace(demo_agent("a", 1), pass_env=("KEY",))
    said = replace(SAID, words="usage limit of sk-secret-12345")
    async with bench(tmp_path, environment={"KEY": "sk-secret-12345"}) as here:
        await here.add(batch_spec("b", [TaskSpec("T", "a")], [agent]))
        await exhaust(here, 1, said)
        assert here.view.cooldowns["a"].reason == "usage limit of [hidden]"
        told = str([event.fields for event in await here.deck.events(0, 100)])
        assert "usage limit of" in told
        assert "sk-secret" not in told


async def test_no_attempt_is_spent_and_the_turn_keeps_its_place(tmp_path: Path) -> None:
    async with bench(tmp_path, clock=FixedClock()) as here:
        await here.add(spec(1, max_attempts=1))
        await exhaust(here, 1)
        assert here.view.turns[1].state is TurnState.QUEUED
        assert here.view.turns[1].position == 1
        task = here.view.tasks[1]
        assert (task.status, task.attempts) == (Status.READY, 0)


async def all_six_exhausted(here: Bench) -> None:
    """Two agents of one account, of which every turn has been refused."""
    await here.add(spec(6, limit=3))
    await here.puppets.until_begun(1, 2, 3, 4, 5, 6)
    for turn in range(1, 7):
        await exhaust(here, turn)


async def test_at_the_reset_one_turn_tries_it_and_the_rest_follow_its_success(
    tmp_path: Path,
) -> None:
    clock = FixedClock()
    async with bench(tmp_path, clock=clock) as here:
        await all_six_exhausted(here)
        assert here.view.cooldowns["team"].windows == 1, "they tell of the same window"
        await move(here, clock, 301)
        assert [t for t in here.view.live if t < 7] == [1]
        assert here.view.cooldowns["team"].probe == 1
        await here.puppets.until_begun_again(1)
        await here.end(1)
        assert here.view.cooldowns == {}
        assert set(here.view.live) >= {2, 3, 4, 5, 6}


async def test_where_the_turn_that_tries_it_never_began_it_tries_again_alone(
    tmp_path: Path,
) -> None:
    clock = FixedClock()
    async with bench(tmp_path, clock=clock) as here:
        await all_six_exhausted(here)
        await move(here, clock, 301)
        await here.puppets.until_begun_again(1)
        here.puppets.end(1, TurnState.QUEUED, end=AttemptEnd.FENCED)
        await here.puppets.until_begun_again(1, times=3)
        assert [t for t in here.view.live if t < 7] == [1]
        await here.deck.audit()
        assert here.view.violations == ()


async def test_an_account_that_is_still_used_up_is_left_alone_longer_each_time(
    tmp_path: Path,
) -> None:
    clock = FixedClock()
    async with bench(tmp_path, clock=clock) as here:
        await here.add(spec(2))
        waits = []
        await here.puppets.until_begun(1, 2)
        await exhaust(here, 2, UsageLimit("429", after_seconds=1))
        for times in range(1, 6):
            await here.puppets.until_begun_again(1, times)
            await exhaust(here, 1, UsageLimit("429", after_seconds=1))
            cooldown = here.view.cooldowns["team"]
            waits.append(round((cooldown.until_ms - clock.now_ms()) / 1_000))
            await move(here, clock, waits[-1] + 1)
            assert [t for t in here.view.live if t < 3] == [1], "one turn in each window"
        assert waits == [1, 60, 120, 240, 480]


@pytest.mark.parametrize("after", [None, 1.0, 3_600.0])
async def test_a_turn_that_alone_is_refused_time_after_time_has_failed_with_the_words(
    tmp_path: Path, after: float | None
) -> None:
    """Unless it is told again and again of a reset that is far away."""
    clock, said = FixedClock(), UsageLimit("slow down", after_seconds=after)
    async with bench(tmp_path, clock=clock) as here:
        await here.add(spec(2))
        await here.puppets.until_begun(1, 2)
        await exhaust(here, 2, said)
        for times in range(1, MOST_REFUSALS + 2):
            await here.puppets.until_begun_again(1, times)
            await exhaust(here, 1, said)
            if here.view.turns[1].state is not TurnState.QUEUED:
                break
            until_ms = here.view.cooldowns["team"].until_ms
            await move(here, clock, (until_ms - clock.now_ms()) / 1_000 + 1)
        turn = here.view.turns[1]
        if after == 3_600.0:
            assert turn.state is TurnState.RUNNING, "it tries once more"
            return
        assert (turn.state, times) == (TurnState.FAILED, MOST_REFUSALS + 1)
        assert turn.error == f"refused {MOST_REFUSALS} times in a row: HTTP 429"
        assert here.view.tasks[1].status is Status.FAILED
        until_ms = here.view.cooldowns["team"].until_ms
        await move(here, clock, (until_ms - clock.now_ms()) / 1_000 + 1)
        assert 2 in here.view.live, "the next one tries"


async def test_a_failure_of_another_kind_proves_that_the_account_answers(tmp_path: Path) -> None:
    clock = FixedClock()
    async with bench(tmp_path, clock=clock) as here:
        await here.add(spec(2))
        await here.puppets.until_begun(1, 2)
        await exhaust(here, 1)
        await exhaust(here, 2)
        await move(here, clock, 301)
        await here.puppets.until_begun_again(1)
        await here.end(1, TurnState.FAILED, error="its tests fail")
        assert here.view.cooldowns == {}
        assert 2 in here.view.live


async def test_a_turn_that_is_stopped_while_it_tries_proves_nothing(tmp_path: Path) -> None:

    clock = FixedClock()
    async with bench(tmp_path, clock=clock) as here:
        await here.add(spec(2))
        await here.puppets.until_begun(1, 2)
        await exhaust(here, 1)
        await exhaust(here, 2)
        await move(here, clock, 301)
        await here.deck.submit(StopTurn(turn=1))
        assert "team" in here.view.cooldowns
        assert 2 in here.view.live, "the next one tries it"


async def test_the_operator_ends_it_or_holds_the_account(tmp_path: Path) -> None:
    async with bench(tmp_path, clock=FixedClock()) as here:
        await here.add(spec(2))
        await here.puppets.until_begun(1, 2)
        await exhaust(here, 1)
        await exhaust(here, 2)
        held = await here.deck.submit(PutHold(what="account:team"))
        assert held.accepted
        ended = await here.deck.submit(ReleaseHold(what="account:team"))
        assert ended.message == "account:team is released"
        assert here.view.live == (3,), "it still cools down"
        ended = await here.deck.submit(ReleaseHold(what="account:team"))
        assert ended.message == "account team may be used again"
        assert set(here.view.live) == {1, 2, 3}
        nothing = await here.deck.submit(ReleaseHold(what="account:team"))
        assert not nothing.accepted


async def test_an_agent_that_is_released_stays_closed_while_its_account_cools_down(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, clock=FixedClock()) as here:
        await here.add(spec(2))
        await here.puppets.until_begun(1, 2)
        await exhaust(here, 1)
        await exhaust(here, 2)
        await here.deck.submit(PutHold(what="agent:a"))
        await here.deck.submit(ReleaseHold(what="agent:a"))
        assert here.view.live == (3,)


async def test_a_message_is_told_of_the_cooldown_and_cannot_be_forced_past_it(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, clock=FixedClock()) as here:
        await here.add(spec(1))
        await exhaust(here, 1)
        busy = await here.deck.submit(Send(to="a", text="hello"))
        assert not busy.accepted
        assert "cooldown team" in busy.message
        forced = await here.deck.submit(Send(to="a", text="hello", on_busy=OnBusy.FORCE))
        assert not forced.accepted
        assert "Cannot be forced" in forced.message


async def test_it_goes_on_over_a_restart_and_ends_by_itself(tmp_path: Path) -> None:
    clock = FixedClock()
    async with bench(tmp_path, clock=clock) as here:
        await here.add(spec(2))
        await here.puppets.until_begun(1, 2, 3)
        await exhaust(here, 1)
        await exhaust(here, 2)
        await here.end(3)
    async with bench(tmp_path, clock=clock) as here:
        assert here.view.cooldowns["team"].reason == "You've hit your limit"
        assert here.view.live == ()
        await move(here, clock, 301)
        assert here.view.live == (1,)
        await here.end(1)
        await here.puppets.until_begun(2)


async def test_the_turn_of_a_supervisor_that_died_while_it_tried_keeps_nobody_out(
    tmp_path: Path,
) -> None:
    clock = FixedClock()
    async with bench(tmp_path, clock=clock) as here:
        await here.add(spec(2))
        await here.puppets.until_begun(1, 2)
        await exhaust(here, 1)
        await exhaust(here, 2)
        await move(here, clock, 301)
        await here.puppets.until_begun(1)
        assert here.view.cooldowns["team"].probe == 1
    async with bench(tmp_path, clock=clock) as here:
        await here.deck.submit(ReleaseHold(what="deck"))
        assert [t for t in here.view.live if t < 3] != []


async def test_the_deck_wakes_by_itself_when_the_time_has_come(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(1))
        await exhaust(here, 1, UsageLimit("429", after_seconds=0.1))
        await here.puppets.until_begun_again(1)
        await here.end(1)
        assert "account.ready" in await here.kinds()
