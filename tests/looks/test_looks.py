"""A few screens as pictures: what colour and layout do that words cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from batchdeck.core.model.event import Event
from batchdeck.core.model.permission import Allowance
from batchdeck.core.view import DeckView
from batchdeck.tui.app import DeckApp
from tests.support.screen import screen_text, until_shown
from tests.support.stub_deck import NOW_MS, FixedClock, StubDeck
from tests.tui.examples import busy_view, crowded_view, refuses_when_busy
from tests.tui.test_items import items_view

Compare = Callable[..., bool]


CHANGED = {"name": "agent:coder", "before": 1, "after": 2}


def an_app(view: DeckView | None = None) -> DeckApp:
    deck = StubDeck(view or busy_view())
    deck.outputs[412] = b"".join(b"%d \x1b[32mok\x1b[0m guide.md\n" % n for n in range(40))
    refuses_when_busy(deck)
    deck.happened = [
        Event(1, NOW_MS - 90_000, "turn.claimed", 412, "docs/T-412", "docs", "coder"),
        Event(2, NOW_MS - 60_000, "limit.changed", by="op", fields=CHANGED),
    ]
    return DeckApp(deck, clock=FixedClock())


async def until_still(pilot: Pilot[Any]) -> None:
    """Waits until what is loaded behind the screen has arrived: it looks the same for a while."""
    seen, same = "", 0
    while same < 3:
        await pilot.pause(0.15)
        now = screen_text(pilot.app)
        seen, same = now, same + 1 if now == seen else 0


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 20)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_the_deck(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def settled(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "#412")
        await pilot.press("j")
        await pilot.pause(0.3)

    assert snap_compare(an_app(), terminal_size=size, run_before=settled)


SCREENS = {
    "a-limit-being-changed": ("shift+tab", "plus"),
    "limits": ("L",),
    "queue": ("Q", "space"),
    "why": ("j", "j", "j", "j", "w"),
    "folders": ("f",),
    "matrix": ("M",),
    "turn": ("j", "enter"),
    "events": ("e",),
    "needs-you": ("exclamation_mark",),
    "answer": ("exclamation_mark", "enter"),
    "help": ("question_mark",),
    "message": ("shift+tab", "m"),
    "edit": ("Q", "enter"),
    "stop": ("j", "x"),
    "leave": ("q",),
    "agent-form": ("shift+tab", "E"),
    "filter": ("slash",),
    "palette": ("colon",),
    "past": ("left_square_bracket",),
    "give-to": ("Q", "a"),
    "block": ("j", "b"),
}
THEN = {"turn": ("g", "G")}
"""Keys that need what the screen has loaded."""


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)], ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_the_operators_screens(snap_compare: Compare, name: str, size: tuple[int, int]) -> None:
    async def opened(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "#412")
        await pilot.press(*SCREENS[name])
        await until_still(pilot)
        if name in THEN:
            await pilot.press(*THEN[name])
            await until_still(pilot)

    assert snap_compare(an_app(), terminal_size=size, run_before=opened)


CROWDED = {
    "deck": (),
    "needs-you": ("exclamation_mark", "j"),
    "limits": ("L", "plus"),
    "queue": ("Q",),
    "events": ("e",),
    "turn-that-asks": ("j", "j", "enter"),
    "turn-that-is-lost": ("j", "enter"),
    "leave": ("q",),
    "matrix": ("M",),
}


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)], ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("name", CROWDED)
def test_a_deck_that_is_hard_to_show(
    snap_compare: Compare, name: str, size: tuple[int, int]
) -> None:
    async def opened(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "slots")
        await pilot.press(*CROWDED[name])
        await until_still(pilot)

    assert snap_compare(an_app(crowded_view()), terminal_size=size, run_before=opened)


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 15)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_the_busy_prompt(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def asked(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "#412")
        await pilot.press("shift+tab", "m", *"hello", "enter")
        await until_shown(pilot, "coder is busy")
        await pilot.pause(0.5)

    assert snap_compare(an_app(), terminal_size=size, run_before=asked)


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_the_items_of_a_foreach(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def opened(pilot: Pilot[Any]) -> None:
        await pilot.press("i")
        await until_shown(pilot, "item")
        await pilot.pause(0.3)

    app = DeckApp(StubDeck(items_view()), clock=FixedClock())
    assert snap_compare(app, terminal_size=size, run_before=opened)


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_what_agents_may_always_do(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def opened(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "#412")
        await pilot.press("P")
        await until_still(pilot)

    kept = Allowance(3, "coder", "s", "edit anything in its working folder", "op", NOW_MS - 90_000)
    app = DeckApp(StubDeck(busy_view(allowances={3: kept})), clock=FixedClock())
    assert snap_compare(app, terminal_size=size, run_before=opened)
