"""What needs the operator can be dealt with where it is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.widgets import Static

from batchdeck.core.commands import AnswerAsk, ReleaseHold, RetryTask
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.hold import OURSELVES, Hold
from batchdeck.core.model.line import conversation_line
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from batchdeck.tui.app import DeckApp
from batchdeck.tui.present.needs import MOST_HELD, NeedKind, needs
from tests.support.screen import screen_text, until, until_gone, until_read, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, task, turn, view_of
from tests.tui.examples import busy_view, held, shown

pytestmark = pytest.mark.anyio


async def test_nothing_to_do_is_said_in_one_line() -> None:
    async with shown(StubDeck(view_of([turn(1)], [task(1)], [agent()]))) as (_, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "needs you: nothing needs you")


async def test_a_question_is_answered_by_the_number_of_its_choice() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "enter answer")
        await pilot.press("enter")
        await until_shown(pilot, "#408 T-408 asks")
        assert "allow" in screen_text(app)
        await pilot.press("2")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, AnswerAsk)
        assert (command.ask, command.answer) == (7, "deny")


async def test_a_question_without_choices_is_answered_in_words() -> None:
    question = Ask(8, 408, "which branch?", default="main", opened_ms=NOW_MS)
    deck = StubDeck(busy_view(asks={8: question}))
    async with shown(deck) as (_, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "which branch?")
        await pilot.press(*["backspace"] * 4, "enter")
        await until_shown(pilot, "There is nothing to answer with yet.")
        await pilot.press(*"dev", "enter")
        await until_shown(pilot, "needs you")
        (command,) = deck.commands
        assert isinstance(command, AnswerAsk)
        assert command.answer == "dev"


async def test_what_an_answer_must_be_and_what_the_agent_suggests_are_shown() -> None:
    schema = '{"type": "integer"}'
    question = Ask(8, 408, "which port?", ("80", "8080"), schema, "8080", opened_ms=NOW_MS)
    deck = StubDeck(busy_view(asks={8: question}))
    async with shown(deck) as (app, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "The agent suggests: 8080")
        assert schema in screen_text(app)
        await until_read(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: deck.commands)
        assert deck.commands[0].answer == "8080"


async def test_what_was_said_to_a_key_stays_while_the_deck_goes_on() -> None:
    deck = StubDeck(busy_view(holds=held("agent:coder", "op")))
    async with shown(deck) as (app, pilot):
        await pilot.press("exclamation_mark", "h")
        await until_shown(pilot, "h releases a hold; this is none")
        for _ in range(2):
            deck.publish(replace(deck.view, revision=deck.view.revision + 1))
            await until(pilot, lambda: app.view is deck.view)
            app.show_scene()
            await pilot.pause()
        assert "h releases a hold; this is none" in screen_text(app)
        await pilot.press("down")
        await until_gone(pilot, "h releases a hold; this is none")


async def test_a_question_answered_elsewhere_closes_by_itself() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (_, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "#408 T-408 asks")
        deck.publish(replace(deck.view, asks={}))
        await until_gone(pilot, "#408 T-408 asks")


async def test_a_hold_is_released_and_a_lost_task_tried_again() -> None:
    lost = turn(1, TurnState.LOST, error="its runner died without a record")
    hold = Hold("folder:1:2/x", OURSELVES, "the folder is missing", NOW_MS - 60_000, "/repo/x")
    holds = {hold.what: hold}
    deck = StubDeck(
        view_of([lost], [task(1, Status.FAILED)], [agent()], holds=holds, max_parallel_cap=32)
    )
    async with shown(deck) as (_, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "its runner died without a record")
        await until_shown(pilot, "folder:/repo/x held by batchdeck: the folder is missing")
        await pilot.press("h", "r", "j", "h", "r", "k", "r")
        await until(pilot, lambda: len(deck.commands) == 2)
        kinds = {type(command) for command in deck.commands}
        assert kinds == {ReleaseHold, RetryTask}
        assert "folder:/repo/x" in {c.what for c in deck.commands if isinstance(c, ReleaseHold)}


async def test_a_new_question_is_told_at_once_wherever_the_operator_is() -> None:
    deck = StubDeck(busy_view(asks={}))
    async with shown(deck) as (_, pilot):
        await pilot.press("e")
        deck.publish(busy_view())
        await until_shown(pilot, '#408 T-408 asks: may I run "make deploy"? (! answers)')
        await until_shown(pilot, "! 1 needs you")


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 36)])
async def test_after_a_crash_the_second_line_begins_with_how_it_goes_on(
    size: tuple[int, int],
) -> None:
    holds = {"deck": Hold("deck", OURSELVES, "the last supervisor did not stop in order", NOW_MS)}
    banner = "The last supervisor did not stop in order. 3 turns go on. 6 turns are queued."
    async with shown(StubDeck(busy_view(holds=holds, banner=banner)), size) as (app, _):
        first, second = screen_text(app).splitlines()[:2]
        assert "! 2" in first
        assert second.startswith(" held until you release it (p, or ! then h) · The last")


LONG = (
    "its runner died without a record: the machine was restarted while the agent was writing into "
    "docs/guide/links; what it left behind was ended"
)
HOLD_KEYS = "h release · esc back"
LOST_KEYS = "enter open the turn · r try it again · esc back"


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 36)])
async def test_all_that_is_said_of_the_row_under_the_cursor_can_be_read(
    size: tuple[int, int],
) -> None:
    reason = "/usr/local/bin/writer is missing (exit 127): install it, then release this hold"
    lost = turn(1, TurnState.LOST, error=LONG)
    holds = held("agent:coder", OURSELVES, reason)
    view = view_of([lost], [task(1, Status.FAILED)], [agent()], holds=holds)
    async with shown(StubDeck(view), size) as (app, pilot):
        await pilot.press("exclamation_mark")
        await until(
            pilot, lambda: _told(app) == f"agent:coder held by batchdeck: {reason} {HOLD_KEYS}"
        )
        before = screen_text(app).splitlines()
        await pilot.press("j")
        await until(pilot, lambda: _told(app) == f"{LONG} {LOST_KEYS}")
        after = screen_text(app).splitlines()
        frames = [
            [n for n, line in enumerate(seen) if "╭─ needs" in line] for seen in (before, after)
        ]
        assert frames[0] == frames[1], "it must not jump"


def _told(app: DeckApp) -> str:
    """What the dialog says below its table, as one line."""
    whole, keys = (app.screen.query_one(name, Static) for name in ("#whole", "#words"))
    lines = screen_text(app).splitlines()
    seen = [
        lines[y][keys.region.x : keys.region.right]
        for y in range(whole.region.y, keys.region.bottom)
    ]
    return " ".join(" ".join(seen).split())


async def test_of_very_many_needs_as_many_are_shown_as_leave_room_for_the_keys() -> None:
    lost = [turn(n, TurnState.LOST, error=f"{LONG} {n}") for n in range(1, 40)]
    view = view_of(lost, [task(t.id, Status.FAILED) for t in lost], [agent()])
    async with shown(StubDeck(view), (60, 15)) as (app, pilot):
        await pilot.press("exclamation_mark", "G")
        await until(pilot, lambda: _told(app) == f"{LONG} 39 {LOST_KEYS}")


async def test_turns_that_are_held_one_by_one_can_be_released_there() -> None:
    deck = StubDeck(view_of([turn(7, held_by="op")], [task(7)], [agent()]))
    async with shown(deck) as (app, pilot):
        assert "! 1" not in screen_text(app)
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "held by op")
        await pilot.press("h")
        await until(pilot, lambda: deck.commands)
        assert [c.what for c in deck.commands if isinstance(c, ReleaseHold)] == ["#7"]


def test_a_turn_that_a_person_stopped_needs_them_where_a_message_waits_behind_it() -> None:
    turns = [
        turn(6, held_by="op", conversation=1),
        turn(7, trigger=Trigger.REPLY, conversation=1),
        turn(8, held_by="op", conversation=2),
        turn(9, trigger=Trigger.RETRY, conversation=2),
    ]
    lines = {conversation_line(1): (6, 7), conversation_line(2): (8, 9)}
    found = needs(replace(view_of(turns, [], [agent()]), in_order=lines))
    assert [(need.turn, need.words, need.urgent) for need in found] == [
        (6, "held by op; #7 waits for it", True),
        (8, "held by op", False),
    ]


def test_a_turn_that_no_person_has_held_is_urgent_and_very_many_are_counted() -> None:
    turns = [turn(n, held_by="op") for n in range(1, 101)]
    turns += [
        turn(200, held_by="batchdeck (see the banner)"),
        turn(201, authorised=False),
        turn(202, held_by="batchdeck-fan"),
    ]
    found = needs(view_of(turns, [task(t.id) for t in turns], [agent()]))
    assert [need.turn for need in found if need.urgent] == [200, 201]
    assert found[-1].words == f"{101 - MOST_HELD} more turns are held (Q shows them)"
    assert len(found) == 2 + MOST_HELD + 1


@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_what_the_headline_has_no_room_for_can_be_read_there(size: tuple[int, int]) -> None:
    banner = (
        "The last supervisor did not stop in order. " + "3 turns go on, 6 turns are queued. " * 5
    )
    async with shown(StubDeck(view_of([turn(1)], [task(1)], [agent()], banner=banner)), size) as (
        app,
        pilot,
    ):
        await until_shown(pilot, "… (!)")
        assert "! 1" not in screen_text(app), "it is told, and asks for nothing"
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: _told(app) == f"{banner}esc back")


def test_a_lost_turn_that_asks_is_listed_once_as_its_question() -> None:
    lost = [turn(1, TurnState.LOST), turn(2, TurnState.LOST)]
    asks = {4: Ask(4, 1, "it may have done half of it: again?", ("again", "leave"))}
    found = needs(view_of(lost, [task(1), task(2)], [agent()], asks=asks))
    assert [(need.turn, need.kind) for need in found] == [(1, NeedKind.ASK), (2, NeedKind.LOST)]


async def test_enter_opens_a_lost_turn_and_says_where_it_does_nothing() -> None:
    view = view_of(
        [turn(1, TurnState.LOST)],
        [task(1, Status.FAILED)],
        [agent()],
        holds=held("agent:coder", OURSELVES, "it is missing"),
    )
    async with shown(StubDeck(view)) as (app, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "h release · esc back")
        await pilot.press("enter")
        await until_shown(pilot, "enter does nothing here: h release · esc back")
        await pilot.press("j")
        await until_shown(pilot, "enter open the turn · r try it again")
        await pilot.press("enter")
        await until_shown(pilot, "lost  #1 T-1")
        assert len(app.screen_stack) == 2


async def test_a_lost_message_says_how_it_is_written_again() -> None:
    lost = turn(1, TurnState.LOST, task=None, trigger=Trigger.CHAT, batch=None, lane=None)
    async with shown(StubDeck(view_of([lost], [], [agent()]))) as (_, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "enter open the turn (m there writes to it again) · esc back")
        await pilot.press("r")
        await until_shown(pilot, "this is a message: enter opens it, m writes to it again")
