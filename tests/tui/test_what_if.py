"""What a limit that is being changed would do is shown before it is applied."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.commands import Receipt, SetLimit
from batchdeck.core.model.event import Event
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.plan import plan, with_limits
from batchdeck.core.rules.standing import limit_names
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.what_if import what_if
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.widgets.agent_table import AgentTable
from batchdeck.tui.widgets.status_table import StatusTable
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, held, shown

pytestmark = pytest.mark.anyio


ROOMY = {"global": 8, "status:docs/READY": 6}


def values(deck: StubDeck) -> list[tuple[str, int | None]]:
    return [(c.name, c.value) for c in deck.commands if isinstance(c, SetLimit)]


async def test_a_step_shows_what_would_start_and_what_would_still_wait_and_on_what() -> None:
    deck = StubDeck(busy_view(limits=ROOMY))
    async with shown(deck) as (app, pilot):
        await pilot.press("shift+tab", "plus")
        await until_shown(pilot, "agent coder 2 → 3")
        text = screen_text(app)
        assert "starts now:   #434 T-434" in text
        assert "#431 T-431 (folder under docs), #433 T-433 (held by op), 1 more" in text
        assert "esc leave it at 2" in text
        assert "command  2/2 → 3 " in text, "its row says so too"
        assert deck.commands == []


async def test_enter_applies_it_once_and_says_before_and_after() -> None:
    deck = StubDeck(busy_view(), lambda command: Receipt(accepted=True, before=2))
    async with shown(deck) as (_app, pilot):
        await pilot.press("shift+tab", "plus", "enter", "enter")
        await until_shown(pilot, "agent coder: 2 → 3")
        assert values(deck) == [("agent:coder", 3)]
        await until_gone(pilot, "starts now")


async def test_two_quick_presses_change_it_by_two_before_it_is_applied() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        app.screen.query_one(AgentTable).move_to("tester")
        await pilot.press("shift+tab")
        for key in ("minus", "minus", "enter"):
            app.simulate_key(key)
        await until(pilot, lambda: deck.commands)
        assert values(deck) == [("agent:tester", 1)]


async def test_changes_add_up_while_the_deck_has_not_answered() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (_app, pilot):
        await pilot.press("shift+tab", "plus", "enter", "plus")
        await until_shown(pilot, "agent coder 2 → 3")


async def test_escape_and_moving_on_leave_the_limit_as_it_is() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (_app, pilot):
        await pilot.press("shift+tab", "plus")
        await until_shown(pilot, "starts now")
        await pilot.press("escape")
        await until_gone(pilot, "starts now")
        await pilot.press("plus", "j")
        await until_gone(pilot, "starts now")
        await pilot.press("k", "plus", "tab")
        await until_gone(pilot, "starts now")
        assert deck.commands == []


async def test_a_number_is_typed_and_none_takes_the_limit_away() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (_app, pilot):
        await pilot.press("shift+tab", "1", "0")
        await until_shown(pilot, "agent coder 2 → 10")
        await pilot.press("enter")
        await until(pilot, lambda: len(deck.commands) == 1)
        await pilot.press("n", "enter")
        await until(pilot, lambda: len(deck.commands) == 2)
        await pilot.press("0")
        await until_shown(pilot, "→ 0 (closed)")
        await pilot.press("enter")
        await until(pilot, lambda: len(deck.commands) == 3)
        assert [value for _, value in values(deck)] == [10, None, 0]


async def test_a_status_row_and_the_headline_have_limits_too() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        app.screen.query_one(StatusTable).focus()
        await pilot.press("minus")
        await until_shown(pilot, "status docs/READY 4 → 3")
        assert "READY        4/4 → 3 " in screen_text(app)
        assert "starts now:   nothing: over by 1, what runs goes on" in screen_text(app)
        await pilot.press("enter", "shift+tab", "plus")
        await until_shown(pilot, "slots 4/8 → 9")
        await pilot.press("enter")
        await until(pilot, lambda: len(deck.commands) == 2)
        assert values(deck) == [("status:docs/READY", 3), ("global", 9)]


async def test_a_step_that_a_limit_may_not_take_says_why() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        status = app.screen.query_one(StatusTable)
        status.focus()
        status.move_to("BLOCKED")
        await pilot.press("minus")
        await until_shown(pilot, "status docs/BLOCKED is closed already")
        status.move_to("IN_PROGRESS")
        await pilot.press("plus")
        await until_shown(pilot, "has no limit to raise")
        app.screen.query_one(AgentTable).move_to("reviewer")
        await pilot.press("tab", "plus")
        await until_shown(pilot, "reviewer runs one turn at a time")
        app.screen.query_one(AgentTable).move_to("coder")
        await pilot.press("9", "plus", "plus")
        await until_shown(pilot, "11 is over the cap; 0 to 10 is allowed")
        assert "agent coder 2 → 10" in screen_text(app)
        assert deck.commands == []


async def test_a_refused_limit_shows_the_decks_own_words() -> None:
    refusal = Receipt(accepted=False, message="agent:coder: somebody else was faster")
    async with shown(StubDeck(busy_view(), lambda command: refusal)) as (_app, pilot):
        await pilot.press("shift+tab", "plus", "enter")
        await until_shown(pilot, "somebody else was faster")


async def test_the_preview_follows_what_happens_meanwhile() -> None:
    deck = StubDeck(busy_view(limits=ROOMY))
    async with shown(deck) as (_app, pilot):
        await pilot.press("shift+tab", "plus")
        await until_shown(pilot, "starts now:   #434")
        deck.publish(replace(deck.view, holds=held("deck"), mode="held"))
        await until_shown(pilot, "starts now:   nothing")


async def test_a_limit_that_somebody_else_has_changed_meanwhile_starts_from_there() -> None:
    deck = StubDeck(busy_view(), lambda command: Receipt(accepted=True))
    async with shown(deck) as (app, pilot):
        await pilot.press("shift+tab", "plus")
        await until_shown(pilot, "agent coder 2 → 3")
        closed = replace(deck.view.limits["agent:coder"], value=0, changed_by="eve")
        deck.publish(replace(deck.view, limits={**deck.view.limits, "agent:coder": closed}))
        await until_shown(pilot, "it is 0 (closed) now: eve changed it")
        assert "agent coder 0 (closed) → 3" in screen_text(app)
        await until_shown(pilot, "esc leave it at 0")


async def test_of_a_number_that_is_refused_nothing_is_applied() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (_app, pilot):
        await pilot.press("shift+tab", *"12345")
        await until_shown(pilot, "is over the cap")
        await until_gone(pilot, "2 → 1")
        await pilot.press("enter")
        await until_gone(pilot, "starts now")
        assert deck.commands == []
        await until_shown(pilot, "is over the cap")


numbers = st.one_of(st.none(), st.integers(0, 6))


@given(st.sampled_from(["global", "agent:coder", "agent:tester", "status:docs/READY"]), numbers)
def test_what_is_shown_is_what_the_plan_would_start(name: str, value: int | None) -> None:
    view = busy_view(limits=ROOMY)
    if name == "global" and value is None:
        return
    words = what_if(LimitChange(name, 2, value), Scene(view, NOW_MS))
    planned = plan(with_limits(view, {name: value}), NOW_MS)
    assert [f"#{turn}" in words.starts for turn in planned.starts] == [True] * len(planned.starts)
    waiting = [w.turn for w in planned.waits if name in (*limit_names(view.turns[w.turn]), "")]
    shown_ones = sum(f"#{turn} " in words.waits for turn in waiting)
    more = words.waits.rpartition(", ")[2]
    hidden = int(more.split()[0]) if more.endswith(" more") else 0
    assert shown_ones + hidden == len(waiting)


def test_among_100_000_turns_the_preview_is_there_within_a_tenth_of_a_second() -> None:
    turns = [turn(n, agent=f"a{n % 40}") for n in range(1, 100_001)]
    turns += [turn(200_000 + n, TurnState.RUNNING, agent=f"a{n}") for n in range(40)]
    agents = [agent(f"a{n}") for n in range(40)]
    view = view_of(turns, [task(1)], agents, [batch()], {"global": 8})
    scene = Scene(view, NOW_MS)
    assert scene.queues.view is view
    for name, value in (("global", 60), ("agent:a7", 2), ("status:docs/READY", 50)):
        started = time.thread_time()
        words = what_if(LimitChange(name, 1, value), scene)
        assert time.thread_time() - started < 0.1
        assert words.waits.endswith(" more")


@pytest.mark.parametrize("opening", [(), ("Q",), ("L",), ("e",)])
async def test_a_limit_given_by_name_is_shown_before_it_is_applied(
    opening: Sequence[str],
) -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (_, pilot):
        await pilot.press(*opening, "colon", *"limit coder 3")
        await until_shown(pilot, "limit agent:coder = 3")
        await pilot.press("enter")
        await until_shown(pilot, "2/2 → 3")
        await pilot.press("escape", "colon", *"limit global 9999")
        await until_shown(pilot, "limit global = 9999")
        await pilot.press("enter")
        await until_shown(pilot, "9999 is over the cap")
        assert not deck.commands


async def test_a_limit_given_by_name_changes_nothing_where_nothing_may_be_changed() -> None:
    deck = StubDeck(busy_view())
    deck.happened = [Event(1, NOW_MS - 3_000_000, "hold", fields={"what": "deck"})]
    async with shown(deck) as (app, pilot):
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: app.in_past)
        await pilot.press("colon", *"limit coder 3")
        await until_shown(pilot, "this is how it was; esc returns to now")
        await pilot.press("enter", "enter")
        assert not deck.commands
    async with shown(deck, settings=ScreenSettings(read_only=True)) as (_, pilot):
        await pilot.press("colon", *"limit coder 3")
        await until_shown(pilot, "this screen only looks on")
        await pilot.press("enter", "enter")
        assert not deck.commands
