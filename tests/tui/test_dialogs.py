"""Dialogs: what is meant for what was there before changes nothing, and no receipt is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from batchdeck.core.commands import AnswerAsk, Command, PutHold, Receipt, ReleaseHold
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.permission import Decision
from batchdeck.tui.leaving import How, Leave
from batchdeck.tui.screens import confirm, live
from batchdeck.tui.screens.answer import AnswerScreen
from batchdeck.tui.screens.edit import EditScreen
from batchdeck.tui.screens.leave import LeaveScreen
from batchdeck.tui.settings import ScreenSettings
from tests.support.screen import screen_text, until, until_read, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, task, turn, view_of
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio

PERMISSION = Ask(
    8, 408, "wants to: make deploy", tuple(Decision)[:3], alive=True, scope="s", covers="this"
)


def refuses(command: Command) -> Receipt:
    return Receipt(accepted=False, error="gone", message="somebody was faster")


@pytest.mark.parametrize(
    ("opening", "sending"),
    [
        (("exclamation_mark", "enter"), ("2",)),
        (("b",), ("w", "h", "y", "enter")),
        (("tab", "tab", "tab", "tab", "E"), ("enter",)),
    ],
)
async def test_a_refusal_is_told_although_its_dialog_has_gone(
    opening: Sequence[str], sending: Sequence[str]
) -> None:
    deck = StubDeck(busy_view(), answering=refuses)
    deck.gate = asyncio.Event()

    def as_it_was(name: str, known: Agent | None, changed: object) -> Agent:
        assert known is not None
        return known

    settings = ScreenSettings(read_agent=as_it_was)  # type: ignore[arg-type]
    async with shown(deck, settings=settings) as (app, pilot):
        await pilot.press(*opening)
        depth = len(app.screen_stack)
        await until_read(pilot)
        await pilot.press(*sending)
        await until(pilot, lambda: deck.commands)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) < depth)
        if depth == 3:
            await pilot.press("escape")
        deck.gate.set()
        await until_shown(pilot, "somebody was faster")
        assert app.is_running


async def test_a_second_enter_answers_no_question_that_nobody_has_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deck = StubDeck(busy_view())
    monkeypatch.setattr(live, "ECHO_SECONDS", 600.0)
    async with shown(deck) as (app, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "#408 T-408 asks")
        await pilot.press("enter", "enter")
        assert isinstance(app.screen, AnswerScreen)
        assert not deck.commands
        await pilot.press("2")
        await until(pilot, lambda: deck.commands)


async def test_a_permission_is_given_by_nothing_but_a_choice() -> None:
    deck = StubDeck(busy_view(asks={8: PERMISSION}))
    async with shown(deck) as (_, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "↓ chooses")
        await until_read(pilot)
        await pilot.press("enter", "enter")
        assert not deck.commands
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, AnswerAsk)
        assert command.answer == "deny"


async def test_the_key_that_asked_answers_yes_when_it_is_pressed_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confirm, "_REPEAT_SECONDS", 0.0)
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("q", "s", "s")
        await until(pilot, lambda: app.return_value == Leave(How.STOP_ALL))


async def test_a_key_that_repeats_does_not_pass_a_second_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confirm, "_REPEAT_SECONDS", 600.0)
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("q", "s", "s", "s")
        await until_shown(pilot, "Stop all 4 running turns?")
        assert app.return_value is None
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, LeaveScreen))


async def test_every_choice_can_be_read_and_given() -> None:
    long = "keep the pages of the old guide and link to them from the new one, in the "
    choices = (*(f"choice {number}" for number in range(1, 10)), long + "header", long + "footer")
    deck = StubDeck(busy_view(asks={8: Ask(8, 408, "which?", choices, opened_ms=NOW_MS)}))
    async with shown(deck, size=(80, 24)) as (app, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "choice 9  9")
        await until_read(pilot)
        await pilot.press(*["down"] * 10)
        await until_shown(pilot, "the footer")
        assert "the header" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, AnswerAsk)
        assert command.answer == long + "footer"


async def test_two_quick_enters_open_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    deck = StubDeck(view_of([turn(1)], [task(1)], [agent()]))
    deck.gate = asyncio.Event()
    monkeypatch.setattr(live, "ECHO_SECONDS", 600.0)
    async with shown(deck) as (app, pilot):
        await pilot.press("Q", "enter")
        await until(pilot, lambda: deck.commands)
        await pilot.press("enter")
        deck.gate.set()
        await until_shown(pilot, "editing #1")
        await pilot.press("enter")  # leaves nothing as it was before anybody has read it
        assert [type(screen) for screen in app.screen_stack].count(EditScreen) == 1
        await pilot.press("escape")
        await until(pilot, lambda: len(deck.commands) == 2)
        assert [type(command) for command in deck.commands] == [PutHold, ReleaseHold]


async def test_after_a_text_could_not_be_opened_it_can_be_opened_again() -> None:
    deck = StubDeck(view_of([turn(1)], [task(1)], [agent()]), answering=refuses)
    async with shown(deck) as (_, pilot):
        await pilot.press("Q", "enter")
        await until_shown(pilot, "somebody was faster")
        deck.answering = lambda command: Receipt(accepted=True)
        await pilot.press("enter")
        await until_shown(pilot, "editing #1")
