"""Every key does what the help says, or says why it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.widgets import Input

from batchdeck.core.commands import (
    Drain,
    PutHold,
    ReleaseHold,
    RetryTask,
    SetLimit,
    StopTurn,
)
from batchdeck.core.model.event import Event
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.actions import ACTIONS, BY_ID
from batchdeck.tui.performing import _DEEDS
from batchdeck.tui.screens import acting
from batchdeck.tui.screens.deck import DeckScreen
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.widgets.status_table import StatusTable
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, held, shown, shows

pytestmark = pytest.mark.anyio


def on_turn(deck_app: object, turn_id: int) -> None:
    """Puts the cursor on a turn."""
    deck_app.screen.query_one(TurnTable).move_to(turn_id)  # type: ignore[attr-defined]


def test_every_action_of_the_registry_has_a_deed_and_a_key_of_its_own() -> None:
    assert set(_DEEDS) == set(BY_ID)
    for part in Focus:
        keys = [key for a in ACTIONS if part in a.where for key in a.keys.split(",")]
        assert len(keys) == len(set(keys)), part
    assert all(action.help.endswith(".") for action in ACTIONS)


async def test_the_deck_shows_what_runs_what_waits_and_what_needs_you() -> None:
    async with shown(StubDeck(busy_view())) as (app, _):
        text = screen_text(app)
        assert "slots 4/8" in text
        assert "! 1 needs you" in text
        assert "▶  #412" in text
        assert "1st · agent coder 2/2 · folder under docs (#412)" in text
        assert "‖  #433" in text
        assert 'asks: may I run "make deploy"?' in text


async def test_the_cursor_moves_by_letters_and_by_arrows() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        table = app.screen.query_one(TurnTable)
        first, second, *_, last = table.keys
        await pilot.press("j")
        assert table.cursor_key == second
        await pilot.press("up")
        assert table.cursor_key == first
        await pilot.press("G")
        assert table.cursor_key == last
        await pilot.press("k", "g")
        assert table.cursor_key == first
        await pilot.press("end", "home", "pagedown", "pageup", "down")
        assert table.cursor_key == second


async def test_tab_goes_round_the_parts_and_back() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, DeckScreen)
        seen = []
        for _ in range(5):
            await pilot.press("tab")
            seen.append(screen.part.value)
        assert seen == ["output", "headline", "status", "agents", "turns"]
        await pilot.press("shift+tab")
        assert screen.part.value == "agents"


async def test_a_key_that_can_act_on_none_of_the_marked_says_how_many_they_are() -> None:
    ended = [turn(n, TurnState.SUCCEEDED, task=n) for n in (1, 2, 3)]
    view = view_of(ended, [task(n, Status.DONE) for n in (1, 2, 3)], [agent()], [batch()])
    at = Standpoint(view, Focus.TURNS, marked=tuple(ended))
    assert BY_ID["retry"].off(at) == "none of the 3 marked: T-1 is DONE, …"
    assert BY_ID["retry"].off(replace(at, marked=tuple(ended[:1]))) == "T-1 is DONE"


async def test_a_key_that_cannot_act_says_why() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("plus")
        await until_shown(pilot, "limit: choose a status or an agent first")
        on_turn(app, 401)
        await pilot.press("x")
        await until_shown(pilot, "stop: #401 has ended: succeeded")
        await pilot.press("r")
        await until_shown(pilot, "retry: T-401 is DONE")
        on_turn(app, 412)
        await pilot.press("h")
        await until_shown(pilot, "hold: #412 is running; only what is queued can be held")
        assert deck.commands == []


async def test_stopping_asks_naming_the_task_and_the_answer_is_no_by_itself() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        on_turn(app, 412)
        await pilot.press("x")
        await until_shown(pilot, "Stop #412 T-412?")
        await pilot.press("enter")
        await until_gone(pilot, "Stop #412 T-412?")
        assert deck.commands == []
        await pilot.press("x", "y")
        await until_shown(pilot, "#412 T-412 is stopped")
        (command,) = deck.commands
        assert isinstance(command, StopTurn)
        assert command.turn == 412


async def test_a_queued_turn_and_an_agent_are_held_and_released() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        on_turn(app, 431)
        await pilot.press("h")
        on_turn(app, 433)
        await pilot.press("h", "shift+tab", "h")
        await until(pilot, lambda: len(deck.commands) == 3)
        kinds = [(type(c), c.what) for c in deck.commands if isinstance(c, PutHold | ReleaseHold)]
        assert kinds == [(PutHold, "turn:431"), (ReleaseHold, "turn:433"), (PutHold, "agent:coder")]


async def test_the_whole_deck_is_held_released_and_drained() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("p")
        await until_shown(pilot, "the deck is held")
        deck.publish(replace(deck.view, holds=held("deck"), mode="held"))
        await shows(pilot, deck)
        await pilot.press("p", "d")
        await until(pilot, lambda: len(deck.commands) == 3)
        assert isinstance(deck.commands[1], ReleaseHold)
        assert isinstance(deck.commands[2], Drain)
        assert "held" in screen_text(app).splitlines()[0]


async def test_retry_names_the_task_in_full() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        on_turn(app, 402)
        await pilot.press("r")
        await until_shown(pilot, "T-402 is queued again")
        (command,) = deck.commands
        assert isinstance(command, RetryTask)
        assert command.task == "docs/T-402"


async def test_why_shows_every_gate_and_what_would_free_it_and_stays_live() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        on_turn(app, 431)
        await pilot.press("w")
        await until_shown(pilot, "why #431 T-431 waits · 1st")
        text = screen_text(app)
        assert "✗ agent        coder 2/2" in text
        assert "#412 T-412 04:12" in text
        assert "Free when #412 ends (agent, folder, status)." in text
        ended = replace(deck.view.turns[431], state=TurnState.RUNNING, started_ms=NOW_MS)
        deck.publish(replace(deck.view, turns={**deck.view.turns, 431: ended}))
        await until_shown(pilot, "It does not wait for a slot: it runs.")
        await pilot.press("escape")
        await until_gone(pilot, "It does not wait")


async def test_the_holders_are_opened_from_why() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        on_turn(app, 431)
        await pilot.press("w")
        await until_shown(pilot, "held by")
        await pilot.press("j", "enter")
        await until_shown(pilot, "▶ running  #419 T-419")


async def test_enter_opens_the_turn_and_escape_comes_back() -> None:
    deck = StubDeck(busy_view())
    deck.outputs[412] = b"one\ntwo\nthree\n"
    async with shown(deck) as (app, pilot):
        on_turn(app, 412)
        await pilot.press("enter")
        await until_shown(pilot, "▶ running  #412 T-412")
        await until_shown(pilot, "three")
        await pilot.press("escape")
        await until_shown(pilot, "agents")


async def test_enter_on_a_status_or_an_agent_filters_the_turns() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        await pilot.press("shift+tab", "j", "enter")
        await until_shown(pilot, "turns ─ agent:reviewer")
        assert "2 of 11" in screen_text(app)
        await pilot.press("escape")
        await until_gone(pilot, "agent:reviewer")


async def test_the_filter_follows_each_letter_and_is_kept_until_escape() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        await pilot.press("slash", *"agent:rev")
        await until_shown(pilot, "turns ─ agent:rev")
        await pilot.press("enter")
        assert app.screen.query_one(TurnTable).has_focus
        assert "2 of 11" in screen_text(app)
        await pilot.press("slash", "x", "escape")
        await until_shown(pilot, "turns ─ agent:rev")
        await pilot.press("escape")
        await until_gone(pilot, "agent:rev")
        await pilot.press("escape")
        assert app.is_running


async def test_help_shows_every_key_and_finds_by_words() -> None:
    async with shown(StubDeck(busy_view()), (120, 96)) as (app, pilot):
        await pilot.press("question_mark")
        await until_shown(pilot, "Show every key.")
        text = " ".join(screen_text(app).replace("│", " ").replace("┃", " ").split())
        assert [action.id for action in ACTIONS if action.help not in text] == []
        await pilot.press(*"drain")
        await until_gone(pilot, "Show every key.")
        await pilot.press(*["backspace"] * 5, *"admit")
        await until_shown(pilot, "Admit nothing new")
        await pilot.press("escape")
        await until_gone(pilot, "Admit nothing new")


async def test_events_are_read_on_and_open_their_turn() -> None:
    deck = StubDeck(busy_view())
    deck.happened = [Event(1, NOW_MS, "turn.claimed", turn=412, task="docs/T-412", agent="coder")]
    async with shown(deck) as (_app, pilot):
        await pilot.press("e")
        await until_shown(pilot, "turn.claimed")
        deck.happened.append(Event(2, NOW_MS, "limit.changed", by="op", fields={"name": "global"}))
        deck.publish(deck.view)
        await until_shown(pilot, "name global · by op")
        await pilot.press("g", "enter")
        await until_shown(pilot, "▶ running  #412 T-412")
        await pilot.press("escape", "escape")
        await until_shown(pilot, "agents")


async def test_copying_says_what_was_done() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        on_turn(app, 431)
        await pilot.press("y")
        await until_shown(pilot, "#431 is copied")
        assert app.clipboard.startswith("#431 T-431 coder queued  1st · agent coder 2/2")


async def test_the_palette_says_why_something_cannot_be_done_now() -> None:
    async with shown(StubDeck(busy_view(asks={})), (120, 60)) as (app, pilot):
        await pilot.press("L", "colon")
        await until_shown(pilot, "not now: the deck itself needs one, 0 to 32")
        assert not app.screen.query_one(Input).cursor_blink


async def test_the_palette_finds_actions_and_limits_and_themes() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("colon", *"limit coder 3")
        await until_shown(pilot, "limit agent:coder = 3")
        await pilot.press("enter")
        await until_shown(pilot, "2/2 → 3")
        assert not deck.commands
        await pilot.press("enter")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, SetLimit)
        assert (command.name, command.value) == ("agent:coder", 3)
        await pilot.press("ctrl+p", *"deck-light")
        await until_shown(pilot, "theme deck-light")
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "deck-light")


async def test_a_screen_that_only_looks_on_changes_nothing() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck, settings=ScreenSettings(read_only=True)) as (app, pilot):
        on_turn(app, 412)
        for key in "xrmpd":
            await pilot.press(key)
            await until_shown(pilot, "this screen only looks on")
        assert deck.commands == []


async def test_a_sentence_typed_behind_a_refused_message_is_not_taken_for_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acting, "TYPING_SECONDS", 600.0)
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        app.screen.query_one(StatusTable).focus()
        await pilot.press("m", *"pdq!xL", "enter")
        await until_shown(pilot, "message: choose an agent or a turn first")
        assert deck.commands == []
        assert len(app.screen_stack) == 1
        await pilot.press("tab", "m")
        await until_shown(pilot, "to coder")


async def test_after_a_pause_a_key_is_a_key_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "TYPING_SECONDS", 0.0)
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        app.screen.query_one(StatusTable).focus()
        await pilot.press("m", "p")
        await until(pilot, lambda: deck.commands)


async def test_while_a_person_holds_or_drains_the_deck_the_key_that_ends_it_is_shown() -> None:
    deck = StubDeck(busy_view(holds=held("deck")))
    async with shown(deck) as (_, pilot):
        await until_shown(pilot, "the deck is held by op, nothing new starts: p releases it")
        deck.publish(replace(deck.view, holds={}, draining=True))
        await until_shown(pilot, "the deck drains, nothing new starts: d admits again")
        deck.publish(replace(deck.view, draining=False))
        await until_gone(pilot, "d admits again")
