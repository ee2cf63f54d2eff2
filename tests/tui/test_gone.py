"""What a row stands for may go at any moment: the dashboard stays up and says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.app import DeckApp
from tests.support.screen import until_shown
from tests.support.stub_deck import StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, shown, shows
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
