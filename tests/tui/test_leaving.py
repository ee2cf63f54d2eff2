"""Leaving: at once where nothing ends by it, else as the operator chooses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from batchdeck.core.commands import Drain
from batchdeck.core.errors import NoSupervisor
from batchdeck.core.model.event import Event
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.app import DeckApp
from batchdeck.tui.leaving import How, Leave
from batchdeck.tui.settings import ScreenSettings
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, FixedClock, StubDeck, agent, task, turn, view_of
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio


async def test_with_nothing_running_q_leaves_at_once() -> None:
    async with shown(StubDeck(view_of([turn(1)], [task(1)], [agent()]))) as (app, pilot):
        await pilot.press("q")
        await until(pilot, lambda: app.return_value == Leave(How.DETACH))


async def test_with_turns_running_q_asks_and_names_those_that_cannot_go_on() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        await pilot.press("q")
        await until_shown(pilot, "4 turns are running")
        text = screen_text(app)
        assert "3 go on, #408 (acp) cannot; nothing new starts" in text
        assert "admit nothing new, leave when they have ended" in text
        assert "end them now (asks again)" in text
        await pilot.press("escape")
        await until_gone(pilot, "4 turns are running")
        assert app.return_value is None


async def test_enter_detaches() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        await pilot.press("q", "enter")
        await until(pilot, lambda: app.return_value == Leave(How.DETACH))


async def test_stop_all_asks_again() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        await pilot.press("q", "s")
        await until_shown(pilot, "Stop all 4 running turns?")
        await pilot.press("enter")
        await until_gone(pilot, "Stop all 4 running turns?")
        assert app.return_value is None
        await pilot.press("s", "y")
        await until(pilot, lambda: app.return_value == Leave(How.STOP_ALL))


async def test_drain_leaves_when_nothing_runs_any_more() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("q", "d")
        await until(pilot, lambda: deck.commands)
        assert isinstance(deck.commands[0], Drain)
        deck.publish(replace(deck.view, draining=True, mode="draining"))
        await pilot.pause(0.2)
        assert app.return_value is None
        deck.publish(replace(deck.view, running=0, live=()))
        await until(pilot, lambda: app.return_value == Leave(How.DRAIN))


async def test_the_question_stays_true_while_it_is_open() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("q")
        await until_shown(pilot, "4 turns are running")
        ended = replace(deck.view.turns[408], state=TurnState.SUCCEEDED)
        turns = {**deck.view.turns, 408: ended}
        live = tuple(t for t in deck.view.live if t != 408)
        deck.publish(replace(deck.view, turns=turns, running=3, live=live))
        await until_shown(pilot, "3 turns are running")
        assert "3 go on; nothing new starts" in screen_text(app)


async def test_an_attached_screen_leaves_without_a_question() -> None:
    async with shown(StubDeck(busy_view()), settings=ScreenSettings(attached=True)) as (app, pilot):
        await pilot.press("q")
        await until(pilot, lambda: app.return_value == Leave(How.DETACH))


async def test_ctrl_q_asks_from_everywhere_and_ctrl_c_stops_nothing() -> None:
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("ctrl+c")
        await until_shown(pilot, "ctrl+c stops nothing here")
        await pilot.press("question_mark", "ctrl+q")
        await until_shown(pilot, "4 turns are running")
        assert deck.commands == []
        assert app.return_value is None


async def test_a_deck_that_is_gone_ends_the_screen_with_its_exit_code() -> None:
    class Gone(StubDeck):
        async def wait_newer(self, revision: int) -> DeckView:
            raise NoSupervisor("the supervisor is gone")

    app = DeckApp(Gone(busy_view()), clock=FixedClock())
    async with app.run_test() as pilot:
        await until(pilot, lambda: not app.is_running or app.return_code)
    assert app.return_code == 4


async def test_a_failure_of_the_screen_leaves_one_line_and_a_code_that_is_not_0(
    capfd: pytest.CaptureFixture[str],
) -> None:
    reported: list[BaseException] = []

    def report(failure: BaseException) -> Path:
        reported.append(failure)
        return Path("/run/crash.txt")

    secret = "hunter2"

    class Failing(StubDeck):
        async def wait_newer(self, revision: int) -> DeckView:
            raise RuntimeError(secret)

    app = DeckApp(Failing(busy_view()), clock=FixedClock(), report_crash=report)
    with pytest.raises(Exception, match="hunter2"):
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.return_code)
    assert app.return_code == 1
    assert len(reported) == 1
    shown_words = capfd.readouterr()
    assert "failed (RuntimeError); details are in /run/crash.txt" in shown_words.err
    assert secret not in shown_words.err + shown_words.out


async def test_leaving_asks_about_what_runs_now_and_not_about_what_is_shown() -> None:
    idle = view_of([turn(1)], [task(1)], [agent()])
    deck = StubDeck(idle)
    async with shown(deck) as (app, pilot):
        deck._view = busy_view()  # published, and not on the screen yet
        await pilot.press("q")
        await until_shown(pilot, "4 turns are running")
        assert app.return_value is None


async def test_leaving_from_the_past_asks_about_what_runs_now() -> None:
    deck = StubDeck(busy_view())
    deck.happened = [
        Event(1, NOW_MS - 600_000, "turn.queued", turn=412, task="docs/T-412", agent="coder"),
        Event(2, NOW_MS - 5_000, "turn.claimed", turn=412, task="docs/T-412", agent="coder"),
    ]
    async with shown(deck) as (app, pilot):
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: app.in_past)
        assert "slots 3/8" in screen_text(app)
        await pilot.press("q")
        await until_shown(pilot, "4 turns are running")
