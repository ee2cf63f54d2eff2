"""Every size from 20×5 up shows something that can be worked with."""

from __future__ import annotations

import asyncio
import random

import pytest
from textual.events import Resize
from textual.geometry import Size

from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import screen_text, until_shown
from tests.support.stub_deck import StubDeck
from tests.tui.examples import busy_view, refuses_when_busy, shown

pytestmark = pytest.mark.anyio

SIZES = [(20, 5), (30, 8), (40, 10), (60, 15), (60, 20), (80, 24), (103, 29), (120, 36), (300, 80)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_screens_stand_at_every_size(size: tuple[int, int]) -> None:
    deck = StubDeck(busy_view())
    refuses_when_busy(deck)
    async with shown(deck, size) as (app, pilot):
        text = screen_text(app)
        assert "! 1" in text.splitlines()[0]
        assert "#408" in text
        assert len(text.splitlines()) <= size[1]
        for keys in ("tab", "tab", "tab", "m x enter", "w", "question_mark", "q", "enter", "e"):
            for key in keys.split():
                await pilot.press(key)
            await pilot.pause(0.02)
            assert screen_text(app).strip()
            while len(app.screen_stack) > 1:
                await pilot.press("escape")
        assert app.is_running


async def test_being_resized_keeps_the_cursor_on_its_row() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        table = app.screen.query_one(TurnTable)
        await pilot.press("j", "j", "j")
        chosen = table.cursor_key
        for size in [*reversed(SIZES), *SIZES]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert table.cursor_key == chosen
            assert f"#{chosen}" in screen_text(app)


async def test_at_80_by_24_there_are_the_headline_one_table_the_turns_and_the_bar() -> None:
    async with shown(StubDeck(busy_view()), (80, 24)) as (app, pilot):
        text = screen_text(app)
        assert "status ─ tab: agents" in text
        assert "shift+tab: status" not in text
        assert "enter open" in text.splitlines()[-1]
        assert " output ─" not in text
        await pilot.press("shift+tab")
        await until_shown(pilot, "agents ─ shift+tab: status")
        assert "tab: agents" not in screen_text(app)
        await pilot.press("tab")
        assert "agents ─ shift+tab: status" in screen_text(app)


async def test_where_it_is_short_the_part_with_the_focus_is_shown() -> None:
    async with shown(StubDeck(busy_view()), (60, 12)) as (app, pilot):
        assert "#412" in screen_text(app)
        await pilot.press("shift+tab")
        await until_shown(pilot, "reviewer")
        assert "#412" not in screen_text(app)
        await pilot.press("shift+tab")
        await until_shown(pilot, "BLOCKED")


async def test_two_hundred_sizes_from_1_by_1_up_are_taken_without_an_error() -> None:
    chance = random.Random(7)
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        sizes = [(chance.randint(1, 300), chance.randint(1, 80)) for _ in range(190)]
        sizes += [
            (1, 1),
            (2, 1),
            (1, 2),
            (300, 80),
            (3, 3),
            (1, 80),
            (300, 1),
            (5, 2),
            (9, 4),
            (80, 24),
        ]
        keys = ["Q", "escape", "L", "plus", "escape", "escape", "M", "escape", "f", "escape", "w"]
        for number, size in enumerate(sizes):
            app.post_message(Resize(Size(*size), Size(*size)))
            await asyncio.sleep(0.01)
            if number % 10 == 0:
                await pilot.press(keys[number // 10 % len(keys)])
        await pilot.press("escape", "escape")
        await pilot.resize_terminal(80, 24)
        assert app.is_running
        await until_shown(pilot, "#408")
