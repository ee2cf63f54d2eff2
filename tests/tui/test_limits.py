"""All limits in one table: used, limit, who waits behind them, and who changed them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from batchdeck.core.commands import SetLimit
from batchdeck.core.model.limit import Limit
from batchdeck.tui.screens.limits import LimitTable
from tests.support.screen import screen_text, until, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio


def a_deck() -> StubDeck:
    view = busy_view()
    changed = Limit("agent:coder", 2, "ann", NOW_MS - 180_000, "screen", True)
    return StubDeck(replace(view, limits={**view.limits, "agent:coder": changed}))


async def test_every_limit_stands_there_with_used_behind_it_and_by_whom() -> None:
    async with shown(a_deck()) as (app, pilot):
        await pilot.press("L")
        await until_shown(pilot, "the whole deck")
        text = screen_text(app)
        (coder,) = [line for line in text.splitlines() if " coder " in line]
        assert "2/2   full" in coder
        assert coder.split()[-5:] == ["3", "min", "ago", "ann", "┃"]
        for words in (
            "docs/READY",
            "waiting for you",
            "reviewer",
            "serial",
            "0     closed",
        ):
            assert words in text


async def test_a_number_typed_there_is_previewed_and_applied() -> None:
    deck = a_deck()
    async with shown(deck) as (app, pilot):
        await pilot.press("L")
        await until_shown(pilot, "the whole deck")
        app.screen.query_one(LimitTable).move_to("agent:coder")
        await pilot.press("5")
        await until_shown(pilot, "agent coder 2 → 5")
        await pilot.press("minus", "enter")
        await until(pilot, lambda: deck.commands)
        assert [(c.name, c.value) for c in deck.commands if isinstance(c, SetLimit)] == [
            ("agent:coder", 4)
        ]
        app.screen.query_one(LimitTable).move_to("global")
        await pilot.press("n")
        await until_shown(pilot, "no limit: the deck itself needs one")


async def test_escape_leaves_the_change_first_and_then_the_screen() -> None:
    async with shown(a_deck(), (60, 15)) as (app, pilot):
        await pilot.press("L", "plus")
        await until_shown(pilot, "starts now")
        await pilot.press("escape")
        await until_shown(pilot, "agent")
        assert len(app.screen_stack) == 2
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
