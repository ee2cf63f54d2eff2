"""What the screen costs: nothing where nothing changes, and what is seen where something does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import DeckView, Pulse
from batchdeck.tui.app import DeckApp
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import screen_text, until, until_shown
from tests.support.stub_deck import NOW_MS, FixedClock, StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, shown, shows

pytestmark = pytest.mark.anyio


def count_paints(app: DeckApp, then: Callable[[str], None] = lambda paint: None) -> list[str]:
    """What is written to the terminal from now on; `then` is called with each paint."""
    written: list[str] = []

    def display(screen: object, renderable: Any) -> None:
        update = getattr(renderable, "render_segments", None)
        written.append("?" if update is None else update(app.console))
        then(written[-1])

    app._display = display  # type: ignore[method-assign, assignment]
    return written


def large_view(rows: int) -> DeckView:
    turns = [turn(n, TurnState.RUNNING) for n in range(1, 4)]
    turns += [turn(n, title=f"Task number {n}") for n in range(4, rows + 1)]
    tasks = [task(t.id, Status.READY) for t in turns]
    return view_of(turns, tasks, [agent(parallelism_limit=3)], [batch()])


async def test_an_idle_screen_writes_nothing_and_is_not_woken() -> None:
    view = view_of([turn(1, TurnState.SUCCEEDED)], [task(1, Status.DONE)], [agent()])
    async with shown(StubDeck(view)) as (app, _):
        await asyncio.sleep(0.3)
        written = count_paints(app)
        await asyncio.sleep(1.5)
        assert written == []
        assert app._tick is not None
        assert not app._tick._active.is_set()


async def test_a_held_queue_is_not_painted_again_while_it_only_waits() -> None:
    async with shown(StubDeck(large_view(50))) as (app, _):
        await asyncio.sleep(0.3)
        written = count_paints(app)
        await asyncio.sleep(1.5)
        assert written == []


async def test_a_view_that_shows_nothing_new_is_not_painted() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await asyncio.sleep(0.3)
        written = count_paints(app)
        for _ in range(3):
            deck.publish(deck.view)
            await shows(pilot, deck)
        assert written == []


async def test_one_new_line_paints_one_row_and_not_the_screen() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await asyncio.sleep(0.3)
        written = count_paints(app)
        deck.publish(replace(deck.view, pulses={412: Pulse(313, NOW_MS, "the next line")}))
        await until_shown(pilot, "the next line")
        await until(pilot, lambda: written)
        assert 0 < sum(map(len, written)) < 4 * 120


async def test_running_times_go_on_by_the_clock() -> None:
    clock = FixedClock()
    async with shown(StubDeck(busy_view()), clock=clock) as (app, pilot):
        assert "04:12" in screen_text(app)
        clock.move(3_000)
        await until_shown(pilot, "04:15")


async def test_one_changed_row_costs_about_the_same_among_10_000_as_among_100() -> None:
    costs = {rows: await cost_of_a_change(rows) for rows in (100, 10_000)}
    assert costs[10_000] <= 3 * costs[100], costs


async def cost_of_a_change(rows: int) -> float:
    """CPU seconds of this thread from a new view to its paint, at best."""
    view = large_view(rows)
    words, ended = "", asyncio.Event()
    at = 0.0

    def note(paint: str) -> None:
        nonlocal at
        if words in paint and not ended.is_set():
            at = time.thread_time()
            ended.set()

    async with shown(StubDeck(view)) as (app, _):
        await asyncio.sleep(0.2)
        count_paints(app, note)
        costs = []
        for number in range(7):
            words = f"changed {number}"
            ended.clear()
            view = replace(view, turns={**view.turns, 5: replace(view.turns[5], title=words)})
            started = time.thread_time()
            app.view = view
            async with asyncio.timeout(10):
                await ended.wait()
            costs.append(at - started)
        return min(costs)


async def test_the_cursor_stays_on_its_turn_while_others_start_and_end() -> None:
    deck = StubDeck(large_view(40))
    async with shown(deck) as (app, pilot):
        table = app.screen.query_one(TurnTable)
        await pilot.press(*["j"] * 8)
        chosen = table.cursor_key
        await asyncio.sleep(1.1)
        for started in (4, 5, 6):
            running = replace(deck.view.turns[started], state=TurnState.RUNNING, started_ms=NOW_MS)
            ended = replace(
                deck.view.turns[started - 3], state=TurnState.SUCCEEDED, ended_ms=NOW_MS
            )
            turns = {**deck.view.turns, started: running, started - 3: ended}
            deck.publish(replace(deck.view, turns=turns))
            await shows(pilot, deck)
            assert table.cursor_key == chosen
            assert f"›◷  #{chosen}" in screen_text(app)


async def test_rows_do_not_change_places_under_the_hand() -> None:
    deck = StubDeck(large_view(20))
    async with shown(deck) as (app, pilot):
        table = app.screen.query_one(TurnTable)
        await pilot.press("j")
        before = list(table.keys)
        ended = replace(deck.view.turns[1], state=TurnState.FAILED, ended_ms=NOW_MS)
        deck.publish(replace(deck.view, turns={**deck.view.turns, 1: ended}))
        await shows(pilot, deck)
        assert list(table.keys) == before
        assert "✗  #1" in screen_text(app)
        await until(pilot, lambda: table.keys[-1] == 1)


async def test_a_flood_of_views_costs_the_screen_a_few_paints() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await asyncio.sleep(0.3)
        taken: list[DeckView] = []
        app.watch(app, "view", lambda view: taken.append(view), init=False)
        for number in range(2_000):
            deck.publish(replace(deck.view, pulses={412: Pulse(number, NOW_MS, f"line {number}")}))
            if number % 100 == 0:
                await asyncio.sleep(0)
        await until_shown(pilot, "line 1999")
        assert len(taken) < 10
