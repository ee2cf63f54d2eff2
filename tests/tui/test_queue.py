"""Queue surgery through keys: each one command, or as many as are marked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from batchdeck.core.commands import (
    Command,
    EditTurn,
    MergeTurns,
    MoveTurn,
    PutHold,
    Receipt,
    ReleaseHold,
    RetargetTurn,
    SendNow,
    StopTurn,
)
from batchdeck.core.errors import NoSupervisor
from batchdeck.core.model.conversation import Message, Role
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.hold import UNSAVED
from batchdeck.core.model.turn import Trigger
from batchdeck.core.rules.order import service_order
from batchdeck.core.rules.reordering import Where
from batchdeck.tui.present.block_moves import movable
from batchdeck.tui.screens import live
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, task, turn, view_of
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio


def a_deck() -> StubDeck:
    """Five queued turns of tasks, and two messages to coder that go before them."""
    view = busy_view()
    said = [
        turn(n, trigger=Trigger.CHAT, task=None, batch=None, lane=None, priority=100, title=words)
        for n, words in ((451, "fix the anchors"), (452, "and the index"))
    ]
    turns = {**view.turns, **{one.id: one for one in said}}
    deck = StubDeck(replace(view, turns=turns, queued=7))
    deck.said = {
        one.conversation: [
            Message(one.id, one.conversation, one.id, Role.OPERATOR, one.title, NOW_MS)
        ]
        for one in said
    }
    return deck


def table(app: Any) -> TurnTable:
    found = app.screen.query_one(TurnTable)
    assert isinstance(found, TurnTable)
    return found


def of_kind(deck: StubDeck, kind: type[Command]) -> Sequence[Any]:
    return [command for command in deck.commands if isinstance(command, kind)]


async def test_the_queue_stands_in_the_order_of_service() -> None:
    deck = a_deck()
    async with shown(deck) as (app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        assert tuple(table(app).keys) == service_order(deck.view)
        assert "fix the anchors" in screen_text(app)
        assert "1st · agent coder 2/2" in screen_text(app)


async def test_a_turn_is_moved_up_and_down_and_keeps_the_cursor() -> None:
    deck = a_deck()
    async with shown(deck) as (app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        table(app).move_to(434)
        await pilot.press("K", "J", "shift+up")
        await until(pilot, lambda: len(deck.commands) == 3)
        moves = [(c.turn, c.where) for c in of_kind(deck, MoveTurn)]
        assert moves == [(434, Where.UP), (434, Where.DOWN), (434, Where.UP)]
        earlier = replace(deck.view.turns[434], position=430)
        deck.publish(replace(deck.view, turns={**deck.view.turns, 434: earlier}))
        await until(pilot, lambda: table(app).keys.index(434) == 2, seconds=0.6)
        assert table(app).cursor_key == 434


@pytest.mark.parametrize(
    ("chosen", "where", "moving"),
    [
        ({2, 3}, Where.UP, [2, 3]),
        ({1, 2, 4}, Where.UP, [4]),
        ({1, 3}, Where.DOWN, [3, 1]),
        ({4, 5, 2}, Where.DOWN, [2]),
        ({1, 2, 3, 4, 5}, Where.UP, []),
    ],
)
def test_a_block_that_is_moved_keeps_its_order(
    chosen: set[int], where: Where, moving: list[int]
) -> None:
    assert movable([1, 2, 3, 4, 5], chosen, where) == moving


async def test_marks_make_one_key_about_several_turns() -> None:
    deck = a_deck()
    async with shown(deck) as (_app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("space", "space")
        await until_shown(pilot, "2 marked")
        await pilot.press("J")
        await until(pilot, lambda: len(deck.commands) == 2)
        assert [c.turn for c in of_kind(deck, MoveTurn)] == [452, 451]
        await pilot.press("h")
        await until_shown(pilot, "2 turns are held")
        await until_gone(pilot, "2 marked")
        await pilot.press("V", "x")
        await until_shown(pilot, "Delete 7 turns?")
        await pilot.press("enter")
        await until_gone(pilot, "Delete 7 turns?")
        assert not of_kind(deck, StopTurn)
        await pilot.press("x", "y")
        await until_shown(pilot, "7 turns are stopped")
        assert all(command.only_queued for command in of_kind(deck, StopTurn))


async def test_a_turn_is_held_while_it_is_edited_and_goes_in_its_turn_when_saved() -> None:
    deck = a_deck()
    async with shown(deck) as (_app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("enter")
        await until_shown(pilot, "editing #451")
        (put,) = of_kind(deck, PutHold)
        assert (put.what, put.by) == ("turn:451", "operator, editing")
        await pilot.press(*" now", "enter")
        await until_shown(pilot, "#451 is saved")
        assert [type(command) for command in deck.commands] == [PutHold, EditTurn, ReleaseHold]
        assert deck.commands[1].text == "fix the anchors now"  # type: ignore[attr-defined]


async def test_escape_leaves_the_text_and_releases_and_a_hold_that_was_there_stays() -> None:
    deck = a_deck()
    async with shown(deck) as (app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("enter")
        await until_shown(pilot, "editing #451")
        await pilot.press("x", "escape")
        await until_shown(pilot, "#451 is left as it was")
        assert [type(command) for command in deck.commands] == [PutHold, ReleaseHold]
        table(app).move_to(433)
        await asyncio.sleep(0.35)  # an enter right after a dialog is taken for its echo
        await pilot.press("enter")
        await until_shown(pilot, "editing #433")
        await pilot.press("escape")
        await until_shown(pilot, "it stays held")
        assert len(deck.commands) == 2


async def test_a_turn_that_has_started_cannot_be_edited_and_says_so() -> None:
    deck = a_deck()
    deck.answering = lambda command: Receipt(accepted=False, message="#451 is running; too late")
    async with shown(deck) as (app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("enter")
        await until_shown(pilot, "#451 is running; too late")
        assert len(app.screen_stack) == 2


async def test_what_cannot_be_read_is_not_held_and_is_said() -> None:
    deck = a_deck()

    async def gone(conversation: int) -> list[Message]:
        raise NoSupervisor("the supervisor is gone")

    deck.messages = gone  # type: ignore[method-assign, assignment]
    async with shown(deck) as (app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("enter")
        await until_shown(pilot, "edit: the supervisor is gone")
        assert app.is_running
        assert deck.commands == []


async def test_a_hold_that_comes_when_nobody_wants_to_edit_any_more_is_released() -> None:
    deck = a_deck()
    deck.gate = asyncio.Event()
    async with shown(deck) as (app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("enter")
        await until(pilot, lambda: of_kind(deck, PutHold))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        deck.gate.set()
        await until(pilot, lambda: of_kind(deck, ReleaseHold))
        assert len(app.screen_stack) == 1


async def test_nothing_is_edited_where_one_only_looks_on() -> None:
    deck = a_deck()
    async with shown(deck, settings=ScreenSettings(read_only=True)) as (_app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("enter")
        await until_shown(pilot, "open: this screen only looks on")
        assert deck.commands == []


async def test_messages_are_merged_and_given_to_another_agent() -> None:
    deck = a_deck()
    async with shown(deck) as (_app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("c")
        await until_shown(pilot, "merge: mark two or more messages first")
        await pilot.press("space", "space", "c")
        await until_shown(pilot, "Merge 2 messages?")
        await pilot.press("y")
        await until_shown(pilot, "2 messages are one")
        assert of_kind(deck, MergeTurns)[0].turns == (451, 452)
        await pilot.press("g", "a")
        await until_shown(pilot, "give #451 to")
        await pilot.press("j", "enter")
        await until_shown(pilot, "#451 goes to reviewer")
        assert of_kind(deck, RetargetTurn)[0].agent == "reviewer"


async def test_sending_now_names_what_it_passes_or_says_why_it_cannot() -> None:
    deck = a_deck()
    async with shown(deck) as (app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("f")
        await until_shown(pilot, "Sending now passes: agent coder (3/2)")
        await pilot.press("y")
        await until_shown(pilot, "#451 is started")
        (sent,) = of_kind(deck, SendNow)
        assert sent.passing == frozenset({GateName.AGENT})
        table(app).move_to(433)
        await pilot.press("f")
        await until_shown(pilot, "It cannot be sent now: held by op")


async def test_the_filter_chooses_from_the_queue_and_what_is_hidden_is_not_marked() -> None:
    deck = a_deck()
    async with shown(deck, (80, 24)) as (_app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "queue")
        await pilot.press("V")
        await until_shown(pilot, "7 marked")
        await pilot.press("slash", *"agent:rev", "enter")
        await until_shown(pilot, "queue ─ agent:rev")
        await until_shown(pilot, "1 marked")
        await pilot.press("escape", "escape")
        await until_gone(pilot, "agent:rev")
        await until_shown(pilot, "fix the anchors")


async def test_what_is_edited_here_is_let_go_on_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "ECHO_SECONDS", 0.0)
    deck = StubDeck(view_of([turn(1), turn(2, held_by="op")], [task(1), task(2)], [agent()]))
    async with shown(deck) as (app, pilot):
        await pilot.press("Q", "enter")
        await until_shown(pilot, "editing #1")
        await pilot.press("escape")
        await until_gone(pilot, "editing #1")
        await until(pilot, lambda: len(deck.commands) == 2)
        await app.let_all_go()
        assert len(deck.commands) == 2, "it has been released already"
        await pilot.press("enter")
        await until_shown(pilot, "editing #1")
    await app.let_all_go()
    assert [type(command) for command in deck.commands[2:]] == [PutHold, ReleaseHold]
    assert not app.edited


async def test_what_was_written_and_not_saved_is_not_sent_as_it_read_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "ECHO_SECONDS", 0.0)
    deck = StubDeck(view_of([turn(1)], [task(1)], [agent()]))
    async with shown(deck) as (app, pilot):
        await pilot.press("Q", "enter")
        await until_shown(pilot, "editing #1")
        await pilot.press(*" now")
    await app.let_all_go()
    (_, left) = deck.commands
    assert isinstance(left, PutHold)
    assert left.by == UNSAVED
    kept = StubDeck(view_of([turn(1, held_by=UNSAVED)], [task(1)], [agent()]))
    async with shown(kept) as (_, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "held by batchdeck (its edit was not saved)")
        await pilot.press("escape", "Q", "enter")
        await until_shown(pilot, "editing #1")
        await pilot.press(*" now", "enter")
        await until(pilot, lambda: len(kept.commands) == 3)
    assert [type(command) for command in kept.commands] == [PutHold, EditTurn, ReleaseHold]


async def test_marks_stay_where_a_merge_is_declined() -> None:
    said = {"task": None, "trigger": Trigger.CHAT, "batch": None, "lane": None, "conversation": 5}
    deck = StubDeck(view_of([turn(1, **said), turn(2, **said)], [], [agent()]))
    async with shown(deck) as (_, pilot):
        await pilot.press("Q", "V", "c")
        await until_shown(pilot, "Merge 2 messages?")
        await pilot.press("n")
        await until_gone(pilot, "Merge 2 messages?")
        await until_shown(pilot, "2 marked")
        await pilot.press("c", "y")
        await until(pilot, lambda: deck.commands)
        await until_gone(pilot, "2 marked")
