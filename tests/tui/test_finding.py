"""Sorting, filtering events, finding and wrapping output, and what changed since."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from batchdeck.core.model.event import Event
from batchdeck.core.model.limit import Limit
from batchdeck.core.view import AgentTally
from batchdeck.tui.ansi import plain_text
from batchdeck.tui.present.event_filter import EventFilter
from batchdeck.tui.present.since import since_words
from batchdeck.tui.widgets.output_pane import OutputPane
from batchdeck.tui.widgets.turn_table import TurnTable
from batchdeck.tui.wrapping import wrapped
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, FixedClock, StubDeck
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio


async def test_s_sorts_the_turns_and_says_by_what() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        table = app.screen.query_one(TurnTable)
        await pilot.press("s")
        await until_shown(pilot, "turns ─ by agent")
        agents = [app.view.turns[key].agent for key in table.keys]
        assert agents == sorted(agents)
        await pilot.press("s")
        assert list(table.keys) == sorted(table.keys)
        await pilot.press("s", "s", "s")
        await until_gone(pilot, "turns ─ by")


async def test_marks_on_the_turns_make_keys_about_all_of_them() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (_app, pilot):
        await pilot.press("slash", *"state:queued agent:coder", "enter", "V", "h")
        await until_shown(pilot, "3 turns are held")
        assert len(deck.commands) == 3


EVENTS = [
    Event(1, NOW_MS, "turn.claimed", turn=412, task="docs/T-412", agent="coder"),
    Event(2, NOW_MS, "limit.changed", by="op", fields={"name": "global", "after": 5}),
    Event(3, NOW_MS, "turn.claimed", turn=420, task="docs/T-420", agent="tester"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [1, 2, 3]),
        ("kind:limit", [2]),
        ("agent:coder", [1]),
        ("!kind:turn", [2]),
        ("#420", [3]),
        ("by:op global", [2]),
        ("kind:", [1, 2, 3]),
    ],
)
def test_events_are_chosen_by_kind_agent_turn_and_words(text: str, found: list[int]) -> None:
    chosen = EventFilter(text)
    assert [event.seq for event in EVENTS if chosen.passes(event)] == found


async def test_the_events_follow_each_letter_of_a_filter() -> None:
    deck = StubDeck(busy_view())
    deck.happened = EVENTS
    async with shown(deck) as (app, pilot):
        await pilot.press("e")
        await until_shown(pilot, "limit.changed")
        await pilot.press("slash", *"agent:co", "enter")
        await until_shown(pilot, "events ─ agent:co")
        assert "limit.changed" not in screen_text(app)
        await pilot.press("escape")
        await until_shown(pilot, "limit.changed")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_the_events_say_which_fields_a_filter_may_name() -> None:
    deck = StubDeck(busy_view())
    deck.happened = EVENTS
    async with shown(deck) as (_, pilot):
        await pilot.press("e")
        await until_shown(pilot, "limit.changed")
        await pilot.press("slash", *"foo:bar")
        await until_shown(
            pilot, "no field 'foo'; there are kind, agent, batch, by, task, turn (esc clears it)"
        )
        await pilot.press(*["backspace"] * 7, *"nowhere")
        await until_shown(pilot, "no event passes the filter (esc clears it)")
        await pilot.press("escape")
        await until_shown(pilot, "limit.changed")


async def test_a_text_is_found_in_the_output_from_the_end_and_on() -> None:
    deck = StubDeck(busy_view())
    deck.outputs[408] = b"".join(
        b"line %d%s\n" % (n, b" \x1b[31mBoom\x1b[0m" if n in (20, 90) else b"") for n in range(200)
    )
    async with shown(deck) as (app, pilot):
        await pilot.press("enter")
        await until_shown(pilot, "line 199")
        pane = app.screen.query_one(OutputPane)
        await pilot.press("slash", *"boom", "enter")
        await until_shown(pilot, "line 90 Boom")
        assert not pane.follow
        await pilot.press("n")
        await until_shown(pilot, "line 20 Boom")
        await pilot.press("N")
        await until_shown(pilot, "line 90 Boom")
        await pilot.press("slash", *"zzz")
        await until_shown(pilot, "is not in what is kept")
        await pilot.press("escape", "escape", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_long_lines_are_cut_or_go_on_in_the_next_row() -> None:
    deck = StubDeck(busy_view())
    deck.outputs[408] = b"x" * 200 + b"the end of it\n"
    async with shown(deck, (80, 30)) as (app, pilot):
        await pilot.press("enter")
        await until_shown(pilot, "xxxx")
        assert "the end of it" not in screen_text(app)
        await pilot.press("W")
        await until_shown(pilot, "the end of it")
        await pilot.resize_terminal(120, 30)
        await until_shown(pilot, "the end of it")
        await pilot.press("W")
        await until_gone(pilot, "the end of it")


@given(st.text(alphabet="ab 漢é\x1b", max_size=60), st.integers(2, 20))
def test_wrapped_pieces_fit_and_lose_nothing(text: str, width: int) -> None:
    line = text.replace("\x1b", "\x1b[31m")
    pieces = wrapped(line, width)
    assert "".join(plain_text(piece) for piece in pieces) == plain_text(line)
    assert all(cell_len(plain_text(piece)) <= width for piece in pieces)


def test_what_changed_since_is_told_in_one_line() -> None:
    before = busy_view()
    limits = {**before.limits, "agent:coder": Limit("agent:coder", 3)}
    tallies = {"coder": AgentTally(125, 4)}
    after = replace(before, limits=limits, agent_tallies=tallies, mode="held")
    assert since_words(before, after, 720_000) == (
        "since you last looked, 12 min ago: 5 done, 1 failed, agent coder 2 → 3, now held"
    )
    assert since_words(before, before, 720_000) == ""


async def test_who_comes_back_reads_what_changed_until_they_have_read_it() -> None:
    clock, deck = FixedClock(), StubDeck(busy_view())
    async with shown(deck, clock=clock) as (app, pilot):
        await pilot.press("j")
        clock.move(120_000)
        deck.publish(replace(deck.view, agent_tallies={"coder": AgentTally(124, 3)}))
        await until_shown(pilot, "since you last looked, 2 min ago: 4 done")
        await pilot.press("k")
        assert "4 done" in screen_text(app)
        clock.move(30_000)
        await until_gone(pilot, "since you last looked")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agent:codr", "no agent 'codr'; did you mean coder? (esc clears it)"),
        ("status:RAEDY", "no status 'raedy'; did you mean READY? (esc clears it)"),
        ("agnet:coder", "no field 'agnet'; did you mean agent? (esc clears it)"),
        (
            "foo:bar",
            "no field 'foo'; there are status, state, agent, batch, task, target (esc clears it)",
        ),
        ("!nothing 12:30", "no turn passes the filter (esc clears it)"),
        ("agent:writer", "no turn passes the filter (esc clears it)"),
    ],
)
async def test_a_filter_that_names_what_is_not_there_says_so(text: str, words: str) -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        app.screen.set_filter(text)
        await until_shown(pilot, words)


async def test_help_says_what_the_columns_count() -> None:
    async with shown(StubDeck(busy_view())) as (_, pilot):
        await pilot.press("question_mark", *"lane")
        await until_shown(pilot, "What the columns count")
        await until_shown(pilot, "The status a task had when its turn was admitted")
