"""What was done elsewhere, what blocks a task, and how trackers answer, on the screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from batchdeck.core.commands import AnswerBlocker, BlockTask, Receipt, Reconcile
from batchdeck.core.model.blocker import Blocker, BlockerState
from batchdeck.core.model.event import Event
from batchdeck.core.model.issue import TrackerStanding
from batchdeck.core.model.task import Status
from batchdeck.tui.present.headline import headline
from batchdeck.tui.present.outside import tracker_lines
from batchdeck.tui.present.scene import Scene
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio

GITHUB = TrackerStanding("github github.com", asked_ms=NOW_MS, issues=12)
FAILING = replace(
    GITHUB,
    good=False,
    words="rejects the token in GITHUB_TOKEN (401)",
    again_ms=NOW_MS + 60_000,
    doubtful=("o/r#3 is unknown there (404)",),
)


def words(view, width: int = 160) -> str:
    return "".join(cell.text for cell in headline(Scene(view, NOW_MS), width))


def view(**more):
    tasks = [task(1, Status.DONE), task(2, Status.DONE), task(3)]
    return replace(view_of([turn(3)], tasks, [agent()], [batch()]), **more)


def test_the_headline_counts_what_was_done_elsewhere() -> None:
    assert "elsewhere" not in words(view())
    assert "2 done elsewhere" in words(view(elsewhere={1: None, 2: None}))


def test_the_headline_says_why_a_tracker_fails_and_which_key_shows_all_of_it() -> None:
    assert "github" not in words(view(trackers=(GITHUB,)))
    assert f"github fails (e): {FAILING.words}" in words(view(trackers=(FAILING,)))
    assert f"github fails (e): {FAILING.words}" in words(view(trackers=(FAILING,)), 110)


def test_what_fails_wins_over_the_bar_and_its_key_stays_longest() -> None:
    failing = busy_view(trackers=(FAILING,))
    at_120, at_80, at_60 = (words(failing, width) for width in (120, 80, 60))
    assert "github fails (e): rejects the token" in at_120
    assert "─" not in at_120, "an empty bar has no place beside words that are cut"
    assert "done 2 of 13" in at_120
    assert "github fails (e): rejects" in at_80
    assert "! 1 needs you" in at_80
    assert "github fails (e)" in at_60
    assert "! 1" in at_60


def test_a_narrow_headline_keeps_the_slots_first() -> None:
    narrow = words(view(trackers=(FAILING,), elsewhere={1: None}), 50)
    assert "slots" in narrow
    assert len(narrow) <= 50


def test_a_tracker_tells_why_it_is_spared_and_what_is_not_certain() -> None:
    first, second = tracker_lines(view(trackers=(FAILING,)))
    assert "rejects the token in GITHUB_TOKEN (401) · asked again at" in first.text
    assert "12 issues followed" in first.text
    assert second.text == "  ? o/r#3 is unknown there (404)"


async def test_the_key_looks_at_once_and_says_what_came_of_it() -> None:
    def answering(command):
        return Receipt(accepted=True, message="looked at 3 tasks: 1 changed")

    deck = StubDeck(view(), answering)
    async with shown(deck) as (_, pilot):
        await pilot.press("R")
        await until_shown(pilot, "looked at 3 tasks: 1 changed")
        assert isinstance(deck.commands[0], Reconcile)


async def test_the_feed_shows_what_reconciliation_did_and_why_and_how_trackers_answer() -> None:
    deck = StubDeck(view(trackers=(FAILING,)))
    done = {"status": "DONE", "reason": "o/r#3 was closed as completed"}
    deck.happened = [
        Event(1, NOW_MS, "turn.queued", 3, "docs/T-3", "docs", "coder"),
        Event(2, NOW_MS, "reconcile.skipped", 3, "docs/T-3", by="tracker", fields=done),
        Event(3, NOW_MS, "reconcile.error", by="x", fields={"error": "github has a fault"}),
        Event(4, NOW_MS, "audit.violation", 3, fields={"reason": "a slot without a turn"}),
    ]
    async with shown(deck, (120, 36)) as (app, pilot):
        await pilot.press("e")
        await until_shown(pilot, "DONE · o/r#3 was closed as completed · by tracker")
        text = screen_text(app)
        for part in ("T-3", "turn.queued", "rejects the token", "unknown there", "has a fault"):
            assert part in text
        await pilot.press("e")
        await until_gone(pilot, "turn.queued")
        await until_shown(pilot, "reconcile.skipped")
        await until_shown(pilot, "a slot without a turn")
        await pilot.press("e")
        await until_shown(pilot, "turn.queued")
        deck.publish(replace(deck.view, trackers=(GITHUB,)))
        await until_gone(pilot, "rejects the token")


async def test_a_blocker_is_answered_where_it_is_shown() -> None:
    blocker = Blocker(5, 3, "which port?", opened_ms=NOW_MS)
    closed = replace(blocker, id=6, state=BlockerState.ANSWERED)
    deck = StubDeck(view(blockers={5: blocker, 6: closed}))
    async with shown(deck) as (_, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "T-3: which port?")
        await pilot.press("enter")
        await until_shown(pilot, "T-3 waits for an answer")
        await pilot.press(*"8080", "enter")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, AnswerBlocker)
        assert (command.task, command.answer, command.blocker) == ("docs/T-3", "8080", 5)


async def test_a_task_is_blocked_with_a_question() -> None:
    deck = StubDeck(view())
    async with shown(deck) as (_, pilot):
        await pilot.press("b")
        await until_shown(pilot, "What must be answered before T-3 may start?")
        await pilot.press(*"port", "enter")
        await until_shown(pilot, "T-3 is BLOCKED")
        (command,) = deck.commands
        assert isinstance(command, BlockTask)
        assert (command.task, command.question) == ("docs/T-3", "port")


async def test_a_message_cannot_be_blocked_and_the_key_says_so() -> None:
    deck = StubDeck(view_of([turn(1, task=None)], [], [agent()]))
    async with shown(deck) as (_, pilot):
        await pilot.press("b")
        await until_shown(pilot, "is a message, not a task")
        assert not deck.commands
