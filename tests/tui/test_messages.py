"""Writing a message, and the busy prompt that tells the truth and stays live."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from batchdeck.core.commands import OnBusy, Receipt, Send
from batchdeck.core.model.conversation import Message, Role
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.turn import Trigger, TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.app import DeckApp
from batchdeck.tui.present.usual import usual_words
from batchdeck.tui.screens import live
from batchdeck.tui.screens.busy import BusyScreen
from batchdeck.tui.screens.compose import ComposeScreen
from batchdeck.tui.widgets.agent_table import AgentTable
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, task, turn, view_of
from tests.tui.examples import busy_view, refuses_when_busy, shown, shows

pytestmark = pytest.mark.anyio


def one_agent(running: int, limit: int, **more: Any) -> DeckView:
    """The coder with so many turns running and one queued."""
    turns = [turn(n, TurnState.RUNNING) for n in range(1, running + 1)] + [turn(9)]
    return view_of(turns, [task(t.id) for t in turns], [agent(parallelism_limit=limit)], **more)


def busy_deck(view: DeckView | None = None) -> StubDeck:
    deck = StubDeck(view or one_agent(2, 2))
    refuses_when_busy(deck)
    return deck


async def ask(app: DeckApp, pilot: Pilot[Any], text: str = "mend it") -> None:
    """Writes to the agent under the cursor and presses enter."""
    app.screen.query_one(AgentTable).focus()
    await pilot.press("m", *(("space" if letter == " " else letter) for letter in text), "enter")


def sent(deck: StubDeck) -> list[Send]:
    return [command for command in deck.commands if isinstance(command, Send)]


async def test_a_message_to_a_free_agent_is_sent_at_once() -> None:
    deck = busy_deck(one_agent(0, 2))
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "sent to coder: #500")
        (command,) = sent(deck)
        assert (command.to, command.text, command.on_busy) == ("coder", "mend it", None)


async def test_a_message_on_a_turn_goes_to_its_conversation() -> None:
    deck = busy_deck(one_agent(0, 2))
    async with shown(deck) as (app, pilot):
        app.screen.query_one(TurnTable).move_to(9)
        await pilot.press("m")
        await until_shown(pilot, "to coder about T-9")
        await pilot.press("x", "ctrl+s")
        await until(pilot, lambda: sent(deck))
        assert sent(deck)[0].to == "c9"


async def test_escape_keeps_what_is_written_for_its_own_conversation() -> None:
    deck = busy_deck(busy_view())
    async with shown(deck) as (app, pilot):
        app.screen.query_one(AgentTable).focus()
        await pilot.press("m", *"half", "escape")
        await until_shown(pilot, "kept as a draft")
        await pilot.press("j", "m")
        await until_shown(pilot, "to reviewer")
        assert "half" not in screen_text(app)
        await pilot.press("escape", "k", "m")
        await until_shown(pilot, "half")
        assert deck.commands == []


async def test_new_lines_are_written_and_an_empty_message_is_not_sent() -> None:
    deck = busy_deck(one_agent(0, 2))
    async with shown(deck) as (app, pilot):
        app.screen.query_one(AgentTable).focus()
        await pilot.press("m", "enter")
        await until_shown(pilot, "There is nothing to send yet.")
        await pilot.press("a", "ctrl+j", "b", "enter")
        await until(pilot, lambda: sent(deck))
        assert sent(deck)[0].text == "a\nb"


async def test_a_busy_agent_is_asked_about_with_the_truth() -> None:
    deck = busy_deck()
    async with shown(deck) as (app, pilot):
        await ask(app, pilot, "also fix the anchors")
        await until_shown(pilot, "coder is busy")
        text = screen_text(app)
        assert "agent coder 2/2" in text
        assert "#1  T-1  04:12" in text
        assert "Queued, yours goes 1st, with Next in queue too: before 1 turn of coder" in text
        assert "Sending now passes: agent coder (3/2). Nothing else stands in the way." in text
        assert "> also fix the anchors" in text
        for choice in ("Add to queue", "Next in queue", "Send now", "Cancel"):
            assert choice in text


@pytest.mark.parametrize(
    ("key", "on_busy", "front", "passing"),
    [
        ("enter", OnBusy.QUEUE, False, None),
        ("n", OnBusy.QUEUE, True, None),
        ("f", OnBusy.FORCE, False, frozenset({GateName.AGENT})),
    ],
)
async def test_each_choice_sends_what_it_says(
    key: str, on_busy: OnBusy, front: bool, passing: frozenset[GateName] | None
) -> None:
    deck = busy_deck(behind_another())
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "coder is busy")
        await pilot.press(key)
        await until_gone(pilot, "coder is busy")
        first, second = sent(deck)
        assert (second.on_busy, second.front, second.passing) == (on_busy, front, passing)
        assert second.text == "mend it"
        assert first.id != second.id
        assert app.drafts.kept == {}


def behind_another(**more: Any) -> DeckView:
    """A busy coder, with a message that was there before."""
    view = one_agent(2, 2)
    before = turn(9, priority=100, task=None, batch=None, lane=None, trigger=Trigger.CHAT, **more)
    return replace(view, turns={**view.turns, 9: before})


async def test_next_in_queue_is_off_where_it_changes_nothing_and_says_why() -> None:
    deck = busy_deck()
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        reason = "yours goes 1st, with Next in queue too:"
        await until_shown(pilot, reason)
        assert app.screen.query_one("#next").disabled
        await pilot.press("n")
        await pilot.pause()
        assert len(sent(deck)) == 1, "what was refused at first"
        deck.publish(behind_another())
        await until_gone(pilot, reason)
        assert not app.screen.query_one("#next").disabled
        await pilot.press("n")
        await until(pilot, lambda: len(sent(deck)) == 2)
        assert sent(deck)[-1].front


async def test_next_in_queue_is_off_behind_a_message_of_the_same_conversation() -> None:
    deck = busy_deck(behind_another(conversation=5))
    async with shown(deck) as (app, pilot):
        app.screen.query_one(TurnTable).move_to(9)
        await pilot.press("m", "x", "enter")
        await until_shown(pilot, "with Next in queue too (its conversation goes in order)")


async def test_escape_gives_the_text_back_and_stores_nothing() -> None:
    deck = busy_deck()
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "coder is busy")
        await pilot.press("escape")
        await until_gone(pilot, "coder is busy")
        assert isinstance(app.screen, ComposeScreen)
        assert "mend it" in screen_text(app)
        assert len(sent(deck)) == 1


async def test_a_slot_that_frees_changes_the_title_and_enter_sends_unforced() -> None:
    deck = busy_deck()
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "coder is busy")
        deck.publish(one_agent(1, 2))
        await until_shown(pilot, "coder is free", 0.5)
        await until_gone(pilot, "Send now")
        await pilot.press("enter")
        await until_shown(pilot, "sent to coder: #500")
        assert sent(deck)[-1].on_busy is None


async def test_an_agent_that_is_taken_again_is_busy_again() -> None:
    deck = busy_deck()
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        deck.publish(one_agent(1, 2))
        await until_shown(pilot, "coder is free")
        deck.publish(one_agent(2, 2))
        await until_shown(pilot, "coder is busy")
        assert isinstance(app.screen, BusyScreen)


async def test_two_quick_enters_in_the_prompt_are_one_message() -> None:
    deck = busy_deck()
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "coder is busy")
        deck.gate = asyncio.Event()
        app.simulate_key("enter")
        app.simulate_key("enter")
        await until(pilot, lambda: len(sent(deck)) == 2)
        await pilot.pause(0.05)
        deck.gate.set()
        await until_gone(pilot, "coder is busy")
        assert len(sent(deck)) == 2


async def test_two_quick_enters_in_the_composer_are_one_message() -> None:
    deck = busy_deck(one_agent(0, 2))
    async with shown(deck) as (app, pilot):
        app.screen.query_one(AgentTable).focus()
        await pilot.press("m", "x")
        deck.gate = asyncio.Event()
        app.simulate_key("enter")
        app.simulate_key("enter")
        await until(pilot, lambda: sent(deck))
        await pilot.pause(0.05)
        deck.gate.set()
        await until_shown(pilot, "sent to coder")
        assert len(sent(deck)) == 1


async def test_a_serial_agent_cannot_be_forced_and_the_prompt_says_why() -> None:
    deck = busy_deck(busy_view())
    async with shown(deck) as (app, pilot):
        app.screen.query_one(AgentTable).move_to("reviewer")
        await ask(app, pilot)
        await until_shown(pilot, "It cannot be sent now: reviewer runs one turn at a time.")
        assert "Send now" not in screen_text(app)
        await pilot.press("f")
        await pilot.pause()
        assert len(sent(deck)) == 1


async def test_a_closed_limit_cannot_be_passed() -> None:
    deck = busy_deck(one_agent(0, 0))
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "It cannot be sent now: agent coder closed.")


async def test_a_refused_force_shows_the_new_gates_and_tries_under_a_new_id() -> None:
    deck = busy_deck()
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "coder is busy")
        full = replace(deck.view, limits={**deck.view.limits, "global": Limit("global", 2)})
        deck.publish(full)
        refusing = deck.answering
        deck.answering = lambda command: replace(
            refusing(replace(command, on_busy=None)),  # type: ignore[call-arg]
            message="another gate has shut: global 2/2",
        )
        await pilot.press("f")
        await until_shown(pilot, "another gate has shut: global 2/2")
        deck.answering = refusing
        await pilot.press("f")
        await until_gone(pilot, "coder is busy")
        assert sent(deck)[-1].passing == frozenset({GateName.AGENT, GateName.GLOBAL})
        assert len({command.id for command in sent(deck)}) == 3


async def test_a_refusal_without_gates_leaves_the_text_where_it_was_written() -> None:
    deck = StubDeck(one_agent(0, 1), lambda c: Receipt(accepted=False, message="no such agent"))
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "no such agent")
        assert "mend it" in screen_text(app)


async def test_the_prompt_shows_the_refusal_until_the_view_has_caught_up() -> None:
    deck = busy_deck(one_agent(0, 2))
    crowded = one_agent(2, 2)
    async with shown(deck) as (app, pilot):
        seen = StubDeck(crowded)
        refuses_when_busy(seen)
        deck.answering = seen.answering
        app.screen.query_one(AgentTable).focus()
        await pilot.press("m", "x")
        app.simulate_key("enter")
        await until_shown(pilot, "coder is busy")
        await until_shown(pilot, "coder is free", 1.0)


async def test_a_late_second_enter_does_not_open_what_lies_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deck = busy_deck()
    monkeypatch.setattr(live, "ECHO_SECONDS", 600.0)
    async with shown(deck) as (app, pilot):
        app.screen.query_one(TurnTable).move_to(1)
        await pilot.press("m", "x", "enter")
        await until_shown(pilot, "coder is busy")
        app.simulate_key("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        app.simulate_key("enter")
        await pilot.pause(0.1)
        assert len(app.screen_stack) == 1
        monkeypatch.setattr(live, "ECHO_SECONDS", 0.0)
        await pilot.press("enter")
        await until_shown(pilot, "running  #1 T-1")


async def test_one_turn_in_the_way_is_replaced_after_a_question_and_the_message_goes_next() -> None:
    deck = busy_deck(one_agent(2, 2))
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "Replace #1  r")
        await pilot.press("r")
        await until_shown(pilot, "Stop #1 T-1?")
        await pilot.press("r")  # a key that repeats is no answer
        assert len(deck.commands) == 1
        await pilot.press("y")
        await until_shown(pilot, "queued for coder: #500")
        await until(pilot, lambda: len(deck.commands) == 2)
        replacing = deck.commands[1]
        assert isinstance(replacing, Send)
        assert replacing.replacing == 1


async def test_nothing_is_replaced_where_two_are_in_the_way() -> None:
    deck = busy_deck(one_agent(3, 2))
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "coder is busy")
        assert "Replace" not in screen_text(app)
        await pilot.press("r")
        await until_shown(pilot, "there is none to replace")


async def test_d_keeps_the_text_as_a_draft() -> None:
    deck = busy_deck()
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "Keep as draft")
        await pilot.press("d")
        await until_shown(pilot, "kept as a draft")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.drafts.of("coder") == "mend it"
        await pilot.press("m")
        await until_shown(pilot, "mend it")


async def test_the_usual_time_is_told_when_enough_turns_have_ended() -> None:
    minutes = [4, 5, 6, 7, 9, 12]
    ended = [
        turn(100 + n, TurnState.SUCCEEDED, started_ms=NOW_MS - n * 60_000, ended_ms=NOW_MS)
        for n in minutes
    ]
    view = one_agent(2, 2)
    deck = busy_deck(replace(view, turns={**view.turns, **{t.id: t for t in ended}}))
    async with shown(deck) as (app, pilot):
        await ask(app, pilot)
        await until_shown(pilot, "Turns of coder usually take 4 to 9 min.")
    assert usual_words(view_of(ended[:4]), "coder") == ""


async def test_a_turns_screen_shows_an_edited_message_as_it_reads_and_looks_only_for_news() -> None:
    def said(text: str) -> list[Message]:
        return [Message(1, 1, 1, Role.OPERATOR, text, NOW_MS)]

    first = view_of([turn(1), turn(2)], [task(1), task(2)], [agent()])
    deck = StubDeck(first)
    deck.said[1] = said("mend it")
    async with shown(deck) as (_, pilot):
        await pilot.press("enter")
        await until_shown(pilot, "you: mend it")
        for _n in range(3):
            other = {**deck.view.turns, 2: replace(deck.view.turns[2], title="other")}
            deck.publish(replace(deck.view, turns=other))
            await shows(pilot, deck)
        assert deck.conversations_read == [1], "what happens elsewhere is no news here"
        deck.said[1] = said("mend it well")
        edited = {**deck.view.turns, 1: replace(deck.view.turns[1], title="mend it well")}
        deck.publish(replace(deck.view, turns=edited))
        await until_shown(pilot, "you: mend it well")
        assert screen_text(pilot.app).count("you: ") == 1
