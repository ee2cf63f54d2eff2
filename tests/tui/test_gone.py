"""What a row stands for may go at any moment: the dashboard stays up and says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from batchdeck.core.commands import PutHold
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.app import DeckApp
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.widgets import virtual_table
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import until, until_gone, until_shown
from tests.support.stub_deck import StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, held, shown, shows
from tests.tui.test_items import items_view

pytestmark = pytest.mark.anyio


def two_batches(second: BatchState) -> DeckView:
    turns = [turn(1, TurnState.RUNNING), turn(2, batch="b2")]
    tasks = [task(1, Status.IN_PROGRESS), task(2, batch="b2")]
    return view_of(turns, tasks, [agent()], [batch("docs"), batch("b2", 2, second)])


async def focus_on(app: DeckApp, pilot: Pilot[None], part: str) -> None:
    for _ in range(5):
        if app.screen.focused is not None and app.screen.focused.id == part:
            return
        await pilot.press("tab")
    raise AssertionError(f"{part} is no part of this screen")


async def test_a_batch_may_end_while_the_cursor_moves_among_the_statuses() -> None:
    deck = StubDeck(two_batches(BatchState.RUNNING))
    async with shown(deck) as (app, pilot):
        await focus_on(app, pilot, "status")
        await pilot.press("down")
        deck.publish(two_batches(BatchState.COMPLETED))
        await shows(pilot, deck)
        assert app.is_running


@pytest.mark.parametrize("keys", [(), ("Q",), ("f",), ("M",), ("L",), ("i",), ("P",)])
async def test_all_rows_may_go_while_the_cursor_is_being_moved(keys: Sequence[str]) -> None:
    full = items_view()
    deck = StubDeck(replace(full, turns={**busy_view().turns, **full.turns}))
    async with shown(deck) as (app, pilot):
        await pilot.press(*keys, "down")
        deck.publish(view_of())
        await shows(pilot, deck)
        await pilot.press("up", "down", "enter")
        assert app.is_running


@pytest.mark.parametrize("part", ["agents", "matrix"])
@pytest.mark.parametrize("key", ["E", "m", "h"])
async def test_an_agent_that_was_removed_is_said_to_be_gone(part: str, key: str) -> None:
    both = view_of([turn(1)], [task(1)], [agent("coder"), agent("tester")])
    deck = StubDeck(both)
    async with shown(deck) as (app, pilot):
        if part == "matrix":
            await pilot.press("M", "down", "down", "down")
        else:
            await focus_on(app, pilot, "agents")
            await pilot.press("down")
        deck.publish(view_of([turn(1)], [task(1)], [agent("coder")]))
        await shows(pilot, deck)
        await pilot.press(key)
        await until_shown(pilot, "there is no agent tester any more")
        assert not deck.commands


def queue_without(*gone: int) -> DeckView:
    numbers = (1, 2, 3)
    turns = [turn(n, TurnState.RUNNING if n in gone else TurnState.QUEUED) for n in numbers]
    return view_of(turns, [task(n) for n in numbers], [agent(parallelism_limit=9)])


@pytest.mark.parametrize("moving", [(), ("down", "up"), ("g",)])
@pytest.mark.parametrize("key", ["h", "J", "space"])
async def test_a_key_does_not_hit_the_neighbour_of_a_row_that_has_just_gone(
    key: str, moving: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    deck = StubDeck(queue_without())
    monkeypatch.setattr(virtual_table, "SLIP_SECONDS", 600.0)
    async with shown(deck) as (app, pilot):
        await pilot.press("Q", *moving)
        deck.publish(queue_without(1))
        table = app.screen.query_one(TurnTable)
        await until(pilot, lambda: table.cursor_key == 2)
        await pilot.press(key)
        await until_shown(pilot, "#1 has gone; this is #2")
        assert not deck.commands
        assert not table.marked
        await pilot.press("down", "h")
        await until(pilot, lambda: deck.commands)
        assert [c.what for c in deck.commands if isinstance(c, PutHold)] == ["turn:3"]


async def test_a_key_that_comes_later_is_meant_for_the_row_that_is_there() -> None:
    deck = StubDeck(queue_without())
    async with shown(deck) as (app, pilot):
        await pilot.press("Q")
        deck.publish(queue_without(1))
        table = app.screen.query_one(TurnTable)
        await until(pilot, lambda: table.cursor_key == 2)
        await until(pilot, lambda: table.slip is None)
        await pilot.press("h")
        await until(pilot, lambda: deck.commands)


async def test_what_needs_the_operator_slips_no_other_need_under_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(virtual_table, "SLIP_SECONDS", 600.0)
    both = {**held("agent:coder"), **held("agent:tester")}
    deck = StubDeck(busy_view(asks={}, holds=both))
    async with shown(deck) as (_, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "agent:tester held")
        deck.publish(busy_view(asks={}, holds=held("agent:tester")))
        await until_gone(pilot, "agent:coder held")
        await pilot.press("h")
        await until_shown(pilot, "another row has just come under the cursor")
        assert not deck.commands


async def test_what_needs_the_operator_is_only_looked_at_where_nothing_may_be_changed() -> None:
    deck = StubDeck(busy_view(holds=held("agent:coder")))
    async with shown(deck, settings=ScreenSettings(read_only=True)) as (_, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "this screen only looks on")
        await pilot.press("down", "down", "down", "h")
        await until_shown(pilot, "this screen only looks on")
        assert not deck.commands
