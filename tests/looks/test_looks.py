"""A few screens as pictures: what colour and layout do that words cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from batchdeck.tui.app import DeckApp
from tests.support.screen import until_shown
from tests.support.stub_deck import FixedClock, StubDeck
from tests.tui.examples import busy_view, refuses_when_busy

Compare = Callable[..., bool]


def an_app() -> DeckApp:
    deck = StubDeck(busy_view())
    deck.outputs[412] = b"".join(b"%d \x1b[32mok\x1b[0m guide.md\n" % n for n in range(40))
    refuses_when_busy(deck)
    return DeckApp(deck, clock=FixedClock())


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
}


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)], ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_the_operators_screens(snap_compare: Compare, name: str, size: tuple[int, int]) -> None:
    async def opened(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "#412")
        await pilot.press(*SCREENS[name])
        await pilot.pause(0.3)

    assert snap_compare(an_app(), terminal_size=size, run_before=opened)


def test_the_busy_prompt(snap_compare: Compare) -> None:
    async def asked(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "#412")
        await pilot.press("shift+tab", "m", *"hello", "enter")
        await until_shown(pilot, "coder is busy")
        await pilot.pause(0.5)

    assert snap_compare(an_app(), terminal_size=(100, 30), run_before=asked)
