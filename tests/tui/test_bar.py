"""The last line: the keys that count here, and help and the way out at every width."""

from __future__ import annotations

import re

import pytest

from batchdeck.tui.action import DECK_PARTS, Focus
from batchdeck.tui.present.hints import fitting_hints
from batchdeck.tui.screens.acting import hints_for
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.widgets.action_bar import ActionBar
from tests.support.screen import screen_text, until_shown
from tests.support.stub_deck import StubDeck
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("part", DECK_PARTS)
def test_help_and_the_way_out_are_there_at_every_width(part: Focus, width: int) -> None:
    kept = fitting_hints(hints_for(part, lambda action: action.shown), width)
    assert ("?", "help") in kept
    assert ("q", "leave") in kept
    assert 1 + sum(len(key) + len(word) + 3 for key, word in kept) - 2 <= width


def test_hints_keep_their_order_and_lose_the_middle_first() -> None:
    hints = (("a", "one"), ("b", "two"), ("c", "three"), (":", "command"), ("q", "leave"))
    assert fitting_hints(hints, 200) == hints
    assert fitting_hints(hints, 28) == (("a", "one"), (":", "command"), ("q", "leave"))
    assert fitting_hints(hints, 10) == (("q", "leave"),)
    assert fitting_hints(hints, 3) == ()


@pytest.mark.parametrize("size", [(40, 12), (60, 16), (80, 24), (100, 30), (120, 36)])
async def test_the_deck_names_help_and_leave_whatever_has_the_focus(size: tuple[int, int]) -> None:
    async with shown(StubDeck(busy_view()), size) as (app, pilot):
        for _ in range(5):
            bar = screen_text(app).splitlines()[-1]
            assert "? help" in bar
            assert "q leave" in bar
            await pilot.press("tab")


async def test_every_stop_of_tab_is_seen_without_colour() -> None:
    async with shown(StubDeck(busy_view()), (120, 36)) as (app, pilot):
        seen = []
        for _ in range(5):
            await pilot.pause()
            signs = [re.search("[›┏]", line) for line in screen_text(app).splitlines()]
            seen.append([(at, sign.start()) for at, sign in enumerate(signs) if sign])
            await pilot.press("tab")
        assert all(seen)
        assert len({tuple(places) for places in seen}) == 5


async def test_on_the_headline_the_limit_that_is_changed_there_stands_out() -> None:
    async with shown(StubDeck(busy_view()), (80, 24)) as (app, pilot):
        assert not screen_text(app).startswith("›")
        while app.focused is None or app.focused.id != "headline":
            await pilot.press("tab")
        await until_shown(pilot, "+ - deck's limit")
        assert screen_text(app).startswith("›")
        (slots,) = [s for s in app.screen._compositor.render_strips()[0] if "slots" in s.text]
        assert slots.style is not None
        assert slots.style.reverse


@pytest.mark.parametrize("size", [(60, 16), (80, 24)])
async def test_while_a_limit_is_changed_the_bar_shows_the_keys_of_that(
    size: tuple[int, int],
) -> None:
    async with shown(StubDeck(busy_view()), size) as (app, pilot):
        await pilot.press("shift+tab", "plus")
        await until_shown(pilot, "enter apply")
        bar = screen_text(app).splitlines()[-1]
        assert "enter apply" in bar
        assert "esc leave it at" in bar
        assert "q leave" not in bar
        await pilot.press("escape")
        await until_shown(pilot, "q leave")
        assert "enter apply" not in screen_text(app)


async def test_what_nobody_asked_for_waits_for_the_answer_to_a_key() -> None:
    async with shown(StubDeck(busy_view()), settings=ScreenSettings(read_only=True)) as (
        app,
        pilot,
    ):
        await pilot.press("p")
        await until_shown(pilot, "this screen only looks on")
        app.mention("slow terminal")
        await pilot.pause()
        assert "only looks on" in screen_text(app)
        app.screen.query_one(ActionBar).fall_silent()  # as its time does
        await until_shown(pilot, "slow terminal")
        await pilot.press("p")
        await until_shown(pilot, "this screen only looks on")
        app.mention("ready")
        await pilot.press("?", "escape")
        await until_shown(pilot, "ready")
