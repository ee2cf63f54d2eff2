"""Foreign text in every visible field: nothing leaks, nothing is acted upon, nothing crashes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from textual.widgets import Static

from batchdeck.core.commands import Receipt
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.conversation import Message, Role
from batchdeck.core.model.event import Event
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import AgentTally, DeckView, Pulse
from batchdeck.tui.app import DeckApp
from batchdeck.tui.widgets.agent_table import AgentTable
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import screen_text
from tests.support.stub_deck import NOW_MS, StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import folder, refuses_when_busy, shown

pytestmark = pytest.mark.anyio

CORPUS = {
    "a closing tag": "[/]",
    "an unknown closing tag": "[/nope] [b",
    "a click": "[@click=app.quit]x[/]",
    "a link": "[link=file:///etc/passwd]x[/link]",
    "the clipboard": "\x1b]52;c;aGVsbG8=\x07x",
    "the title": "\x1b]0;owned\x07x",
    "a cleared screen": "\x1b[2J\x1b[Hx",
    "eight bits": "\x9b2Jx \x9d0;owned\x9cx",
    "directions": "\u202eevil\u2066x\u200f",
    "combining marks": "a" + "\u0301" * 1_000,
    "controls": "a\x00b\x07c\x7fd\re",
    "half a pair": "x\ud83dx",
    "lines": "one\ntwo\u2028three",
    "wide and joined": "日本語👩‍💻" * 30,
}
RISKY = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def hostile_view(text: str) -> DeckView:
    """Whatever can come from outside says `text`."""
    turns = [
        turn(1, TurnState.RUNNING, agent=text, title=text, folder=folder(f"/data/{text}")),
        turn(2, agent=text, title=text, target=text, folder=folder(f"/data/{text}/x")),
        turn(3, agent=text, title=text, target=text, held_by=text),
        turn(4, TurnState.FAILED, agent=text, error=text, title=text, exit_code=3),
        turn(5, TurnState.LOST, agent=text, error=text),
        turn(6, TurnState.RUNNING, agent=text, forced=(text,), forced_by=text),
    ]
    tasks = [task(t.id, Status.READY, key=text, title=text, batch=text) for t in turns]
    turns = [replace(t, batch=text) for t in turns]
    return view_of(
        turns,
        tasks,
        [agent(text, AgentKind.ACP)],
        [batch(text)],
        {},
        holds={f"agent:{text}": Hold(f"agent:{text}", text, text, NOW_MS)},
        asks={1: Ask(1, 1, text, (text, text), opened_ms=NOW_MS)},
        pulses={6: Pulse(3, NOW_MS, text)},
        agent_tallies={text: AgentTally(1, 1, (NOW_MS,))},
        fault=text,
        banner=text,
    )


def assert_harmless(app: DeckApp) -> None:
    text = screen_text(app)
    assert not RISKY.search(text), ascii(text)
    assert "\u0301" * 5 not in text


@pytest.mark.parametrize("text", CORPUS.values(), ids=CORPUS)
async def test_nothing_foreign_gets_through_on_any_screen(text: str) -> None:
    deck = StubDeck(hostile_view(text))
    deck.answering = lambda command: Receipt(accepted=False, message=text)
    deck.outputs[1] = deck.outputs[2] = (text + "\n").encode("utf-8", "surrogatepass") * 3
    deck.happened = [Event(1, NOW_MS, text, 1, text, text, text, text, {text: text})]
    deck.said[1] = [Message(1, 1, 1, Role.AGENT, text, NOW_MS)]
    async with shown(deck) as (app, pilot):
        assert_harmless(app)
        table = app.screen.query_one(TurnTable)
        for turn_id, keys in ((1, "w x m enter exclamation_mark e q r"), (2, "w h"), (5, "enter")):
            table.move_to(turn_id)
            for key in keys.split():
                await pilot.press(key)
                assert_harmless(app)
                while len(app.screen_stack) > 1:
                    await app.pop_screen()
        assert app.return_value is None
        assert app.is_running


@pytest.mark.parametrize("text", CORPUS.values(), ids=CORPUS)
async def test_the_busy_prompt_and_the_answer_show_foreign_text_as_it_is(text: str) -> None:
    deck = StubDeck(hostile_view(text))
    refuses_when_busy(deck)
    async with shown(deck, (80, 24)) as (app, pilot):
        app.screen.query_one(AgentTable).focus()
        await pilot.press("m", "x", "enter")
        await pilot.pause(0.05)
        assert_harmless(app)
        await pilot.press("escape", "escape", "exclamation_mark", "j", "enter")
        await pilot.pause(0.05)
        assert_harmless(app)
        assert app.is_running


async def test_a_click_written_by_an_agent_is_only_text() -> None:
    text = CORPUS["a click"]
    async with shown(StubDeck(hostile_view(text))) as (app, pilot):
        assert text in screen_text(app)
        table = app.screen.query_one(TurnTable)
        for x in range(2, 100, 6):
            await pilot.click(table, offset=(x, 2))
        assert app.return_value is None


async def test_the_last_line_of_defence_holds_even_for_a_widget_that_forgot() -> None:
    async with shown(StubDeck(hostile_view("x"))) as (app, pilot):
        await app.screen.mount(Static("\x1b]52;c;aGVsbG8=\x07\x9b2J\u202e", markup=False))
        await pilot.pause()
        lines = app.screen._compositor.render_strips()
        painted = [
            strip.apply_filter(line_filter, app.screen.background_colors[1])
            for strip in lines
            for line_filter in app.get_line_filters()[:1]
        ]
        assert not RISKY.search("".join(strip.text for strip in painted))
