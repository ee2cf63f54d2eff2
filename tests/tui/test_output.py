"""The output of a turn: followed, read back, coloured, and read only while it is seen."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from rich.style import Style

from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import DeckView, Pulse
from batchdeck.tui.ansi import coloured_segments, plain_text
from batchdeck.tui.app import DeckApp
from batchdeck.tui.widgets.output_pane import OutputPane
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, task, turn, view_of
from tests.tui.examples import shown, shows

pytestmark = pytest.mark.anyio


def running_view(lines: int = 0, state: TurnState = TurnState.RUNNING) -> DeckView:
    return view_of(
        [turn(1, state)],
        [task(1)],
        [agent()],
        pulses={1: Pulse(lines, NOW_MS, "the last line")},
    )


def numbered(first: int, last: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(first, last))


def lines_shown(app: DeckApp) -> list[str]:
    """The output's lines on the screen, without the scrollbar."""
    shown_lines = screen_text(app).splitlines()
    return [line[:40] for line in shown_lines if line.startswith("┃line")]


async def test_the_end_is_followed() -> None:
    deck = StubDeck(running_view())
    deck.outputs[1] = numbered(0, 100)
    async with shown(deck) as (app, pilot):
        await until_shown(pilot, "line 99")
        assert "following" in screen_text(app)
        deck.outputs[1] += numbered(100, 200)
        deck.publish(running_view(200))
        await until_shown(pilot, "line 199")


async def test_the_scrollbar_stands_where_the_lines_do() -> None:
    deck = StubDeck(running_view())
    deck.outputs[1] = numbered(0, 100)
    async with shown(deck) as (app, pilot):
        pane = app.screen.query_one(OutputPane)
        await until_shown(pilot, "line 99")
        assert pane.vertical_scrollbar.position == pane.scroll_y == pane.max_scroll_y > 0
        pane.focus()
        await pilot.press("pageup")
        await until_shown(pilot, "reading, G follows")
        assert pane.vertical_scrollbar.position == pane.scroll_y < pane.max_scroll_y


async def test_what_is_being_read_stays_where_it_is() -> None:
    deck = StubDeck(running_view())
    deck.outputs[1] = numbered(0, 200)
    async with shown(deck) as (app, pilot):
        pane = app.screen.query_one(OutputPane)
        await until_shown(pilot, "line 199")
        pane.focus()
        await pilot.press("pageup", "pageup")
        await until_shown(pilot, "reading, G follows")
        read = lines_shown(app)
        deck.outputs[1] += numbered(200, 400)
        deck.publish(running_view(400))
        await until(pilot, lambda: "line 399" in pane.text)
        await asyncio.sleep(0.15)
        assert read
        assert lines_shown(app) == read
        await pilot.press("G")
        await until_shown(pilot, "┃line 399")


async def test_lines_that_drop_out_of_the_ring_do_not_push_what_is_read() -> None:
    deck = StubDeck(running_view())
    deck.outputs[1] = numbered(0, 5_400)
    async with shown(deck) as (app, pilot):
        pane = app.screen.query_one(OutputPane)
        await until_shown(pilot, "line 5399")
        pane.focus()
        await pilot.press("pageup")
        read = next(line for line in screen_text(app).splitlines() if "┃line 53" in line)
        deck.outputs[1] += numbered(5_400, 5_450)
        deck.publish(running_view(5_450))
        await until(pilot, lambda: "line 5449" in pane.text)
        await asyncio.sleep(0.15)
        assert read.split()[1] in screen_text(app)


async def test_a_second_attempt_is_not_read_on_from_the_first() -> None:
    def claimed(attempt: str, state: TurnState = TurnState.RUNNING) -> DeckView:
        return view_of([turn(1, state, attempt=attempt)], [task(1)], [agent()])

    deck = StubDeck(claimed("first"))
    deck.outputs[1] = b"".join(b"old %d\n" % n for n in range(5))
    async with shown(deck) as (_, pilot):
        await until_shown(pilot, "old 4")
        deck.publish(claimed("first", TurnState.QUEUED))
        await shows(pilot, deck)
        deck.outputs[1] = b"".join(b"new %d\n" % n for n in range(7))
        deck.publish(claimed("second"))
        await until_shown(pilot, "new 6")
        await until_shown(pilot, "new 0")
        await until_gone(pilot, "old 4")


async def test_an_ended_turn_is_read_to_its_end_and_then_left_alone() -> None:
    deck = StubDeck(running_view())
    deck.outputs[1] = b"half a li"
    async with shown(deck) as (app, pilot):
        await asyncio.sleep(0.1)
        deck.outputs[1] += b"ne, no newline"
        deck.publish(running_view(1, TurnState.SUCCEEDED))
        await until_shown(pilot, "half a line, no newline")
        await shows(pilot, deck)
        pages = deck.pages_read
        await asyncio.sleep(1.3)
        assert deck.pages_read == pages
        assert "succeeded ─╯" in screen_text(app)


async def test_nothing_is_read_for_a_queued_turn_nor_while_the_pane_is_not_shown() -> None:
    deck = StubDeck(view_of([turn(1)], [task(1)], [agent()]))
    async with shown(deck) as (app, _):
        assert "not started: w shows what it waits for" in screen_text(app)
        assert deck.pages_read == 0
    hidden = StubDeck(running_view())
    async with shown(hidden, (80, 24)) as (_, pilot):
        await asyncio.sleep(0.3)
        assert hidden.pages_read == 0
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: hidden.pages_read > 0)


async def test_a_long_output_begins_near_its_end_and_says_so() -> None:
    deck = StubDeck(running_view())
    deck.outputs[1] = b"".join(b"line %d %s\n" % (n, b"x" * 60) for n in range(20_000))
    async with shown(deck) as (app, pilot):
        await until_shown(pilot, "line 19999")
        text = app.screen.query_one(OutputPane).text
        assert "bytes before this" in text.splitlines()[0]
        assert "line 100 " not in text


async def test_going_to_another_turn_shows_that_ones_output() -> None:
    turns = [turn(1, TurnState.RUNNING), turn(2, TurnState.RUNNING)]
    deck = StubDeck(view_of(turns, [task(1), task(2)], [agent()]))
    deck.outputs |= {1: b"from the first\n", 2: b"from the second\n"}
    async with shown(deck) as (app, pilot):
        await until_shown(pilot, "from the first")
        app.screen.query_one(TurnTable).move_to(2)
        await until_shown(pilot, "from the second")
        assert "from the first" not in screen_text(app)


async def test_a_turn_that_was_claimed_anew_is_read_from_its_beginning() -> None:
    deck = StubDeck(running_view())
    deck.outputs[1] = numbered(0, 50)
    async with shown(deck) as (_, pilot):
        await until_shown(pilot, "line 49")
        deck.outputs[1] = b"second try\n"
        deck.publish(replace(running_view(1), running=1))
        await until_shown(pilot, "second try")


def test_colours_become_styles_and_everything_else_is_dropped() -> None:
    line = (
        "\x1b[1;31mred\x1b[0m \x1b[38;5;200mpink\x1b[48;2;1;2;3m deep\x1b[2J\x1b]52;c;eA==\x07 end"
    )
    segments = coloured_segments(line, Style.null())
    assert "".join(segment.text for segment in segments) == "red pink deep end"
    assert segments[0].style is not None
    assert (segments[0].style.bold, segments[0].style.color) == (
        True,
        Style.parse("color(1)").color,
    )
    assert plain_text(line) == "red pink deep end"


@pytest.mark.parametrize(
    "parameters", ["38", "38;5", "38;5;999", "38;2;1", "48;2;999;0;0", "999", ";;", ":"]
)
def test_broken_colours_are_no_colours(parameters: str) -> None:
    segments = coloured_segments(f"\x1b[{parameters}mtext", Style.null())
    assert "".join(segment.text for segment in segments) == "text"


def events_view(state: TurnState = TurnState.RUNNING, lines: int = 0) -> DeckView:
    pulses = {1: Pulse(lines, NOW_MS, "")}
    claude = replace(agent(), output="claude-stream-json")
    return view_of([turn(1, state)], [task(1)], [claude], pulses=pulses)


def partial(text: str) -> bytes:
    delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}
    return json.dumps({"type": "stream_event", "event": delta}).encode() + b"\n"


async def test_events_are_told_and_a_line_is_shown_while_it_grows() -> None:
    deck = StubDeck(events_view())
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "make test"}}
    event = {"type": "assistant", "message": {"content": [call]}}
    deck.outputs[1] = json.dumps(event).encode() + b"\n" + partial("It is ")
    async with shown(deck) as (app, pilot):
        await until_shown(pilot, "> Bash  make test")
        await until_shown(pilot, "It is ")
        deck.outputs[1] += partial("green.\nTwice")
        deck.publish(events_view(lines=3))
        await until_shown(pilot, "It is green.")
        await until_shown(pilot, "Twice")
        pane = app.screen.query_one(OutputPane)
        assert pane.text.splitlines() == ["> Bash  make test", "It is green.", "Twice"]


async def test_what_the_program_wrote_is_a_key_away() -> None:
    deck = StubDeck(events_view(TurnState.SUCCEEDED))
    deck.outputs[1] = partial("hello") + b'{"type":"unheard of"}\n'
    async with shown(deck) as (app, pilot):
        await until_shown(pilot, "hello")
        assert '{"type":"unheard of"}' in screen_text(app)
        app.screen.query_one(OutputPane).focus()
        await pilot.press("T")
        await until_shown(pilot, "raw output")
        await until_shown(pilot, '"stream_event"')
        await pilot.press("T")
        await until_gone(pilot, '"stream_event"')
        await until_shown(pilot, "hello")


async def test_reading_that_begins_in_the_middle_of_an_event_tells_only_whole_ones() -> None:
    deck = StubDeck(events_view(TurnState.SUCCEEDED))
    whole = b"".join(partial(f"piece {number}\n") for number in range(2_000))
    deck.outputs[1] = whole
    async with shown(deck) as (app, pilot):
        await until_shown(pilot, "piece 1999")
        lines = app.screen.query_one(OutputPane).text.splitlines()
        assert lines[0].endswith("bytes before this")
        assert all(line.startswith("piece ") for line in lines[1:])


async def test_a_scrollbar_hides_nothing_of_a_line_that_is_wrapped() -> None:
    said = "".join(chr(ord("a") + n % 26) for n in range(2_000))
    deck = StubDeck(events_view())
    deck.outputs[1] = partial(said + "\nend")
    async with shown(deck) as (app, pilot):
        pane = app.screen.query_one(OutputPane)
        await until_shown(pilot, "abcd")
        pane.focus()
        await pilot.press("W")
        await until(pilot, lambda: pane.show_vertical_scrollbar)
        await until_shown(pilot, "end")
        pieces = re.findall("[a-z]{40,}", screen_text(app))
        assert len(pieces) > 3
        assert all(said.find(one + other) >= 0 for one, other in pairwise(pieces))


async def test_a_line_that_grows_while_it_is_wrapped_stays_one_line() -> None:
    deck = StubDeck(events_view())
    deck.outputs[1] = partial("word " * 60)
    async with shown(deck) as (app, pilot):
        pane = app.screen.query_one(OutputPane)
        await until_shown(pilot, "word word")
        pane.focus()
        await pilot.press("W")
        deck.outputs[1] += partial("and an end\nnext")
        deck.publish(events_view(lines=2))
        await until_shown(pilot, "next")
        assert pane.text.replace("\n", "").count("word") == 60
