"""The deck as it was, from the view and the events since; the last hour in bars."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.model.event import Event
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import AgentTally
from batchdeck.tui.present.charts import agent_charts
from batchdeck.tui.present.history import History
from tests.support.screen import screen_text, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, held, shown

pytestmark = pytest.mark.anyio

MINUTE = 60_000


def story() -> History:
    """T-1 ran and ended, then T-2 was started; the limit was raised in between."""
    turns = [
        turn(
            1,
            TurnState.SUCCEEDED,
            queued_ms=NOW_MS - 9 * MINUTE,
            started_ms=NOW_MS - 8 * MINUTE,
            ended_ms=NOW_MS - 4 * MINUTE,
        ),
        turn(2, TurnState.RUNNING, queued_ms=NOW_MS - 9 * MINUTE, started_ms=NOW_MS - 2 * MINUTE),
    ]
    tasks = [task(1, Status.DONE), task(2, Status.IN_PROGRESS)]
    tallies = {"coder": AgentTally(1, 0, (NOW_MS - 4 * MINUTE,))}
    view = view_of(turns, tasks, [agent(parallelism_limit=2)], [batch()], agent_tallies=tallies)

    def event(minutes: int, kind: str, number: int, **fields: object) -> Event:
        about = {"turn": number, "task": f"docs/T-{number}", "agent": "coder", "batch": "docs"}
        return Event(100 - minutes, NOW_MS - minutes * MINUTE, kind, **about, fields=fields)  # type: ignore[arg-type]

    raised = {"name": "agent:coder", "before": 1, "after": 2}
    events = [
        event(9, "turn.queued", 1),
        event(9, "turn.queued", 2),
        event(8, "turn.claimed", 1),
        event(8, "task.status", 1, before="READY", status="IN_PROGRESS"),
        event(4, "turn.finished", 1, state="succeeded"),
        event(4, "task.status", 1, before="IN_PROGRESS", status="DONE"),
        Event(97, NOW_MS - 3 * MINUTE, "limit.changed", fields=raised),
        event(2, "turn.claimed", 2),
        event(2, "task.status", 2, before="READY", status="IN_PROGRESS"),
    ]
    return History(view, events)


def test_a_moment_shows_what_ran_what_waited_and_the_limits_of_then() -> None:
    then = story().at(NOW_MS - 5 * MINUTE)
    assert {t.id: t.state.value for t in then.turns.values()} == {1: "running", 2: "queued"}
    assert (then.running, then.queued, then.running_by["agent:coder"]) == (1, 1, 1)
    assert then.limits["agent:coder"].value == 1
    assert then.task_counts["docs"] == {Status.IN_PROGRESS: 1, Status.READY: 1}
    assert then.agent_tallies["coder"] == AgentTally(0, 0, ())


def test_between_two_turns_nothing_ran() -> None:
    then = story().at(NOW_MS - 3 * MINUTE)
    assert (then.running, then.queued) == (0, 1)
    assert then.limits["agent:coder"].value == 2
    assert then.task_counts["docs"][Status.DONE] == 1


def test_what_was_not_there_yet_is_not_shown_and_now_is_now() -> None:
    assert not story().at(NOW_MS - 10 * MINUTE).turns
    now = story().at(NOW_MS)
    assert (now.running, now.queued) == (1, 0)


def test_a_turn_that_was_forgotten_comes_back_from_its_events() -> None:
    events = [
        Event(1, NOW_MS - 9_000, "turn.queued", 7, "docs/T-7", "docs", "coder"),
        Event(2, NOW_MS - 8_000, "turn.claimed", 7, "docs/T-7", "docs", "coder"),
        Event(3, NOW_MS - 1_000, "turn.finished", 7, "docs/T-7", "docs", "coder"),
    ]
    then = History(view_of(tasks=[task(7)], agents=[agent()]), events).at(NOW_MS - 5_000)
    assert then.turns[7].state is TurnState.RUNNING
    assert then.turns[7].task == 7


@given(st.integers(0, 12))
def test_the_counts_of_a_moment_are_those_of_its_rows(minutes: int) -> None:
    then = story().at(NOW_MS - minutes * MINUTE)
    states = [t.state for t in then.turns.values()]
    assert then.running == states.count(TurnState.RUNNING) == len(then.live)
    assert then.queued == states.count(TurnState.QUEUED)


async def test_brackets_go_back_and_forth_and_escape_returns_to_now() -> None:
    deck = StubDeck(busy_view())
    deck.happened = [
        Event(n, NOW_MS - age, "turn.queued", turn=412, task="docs/T-412", agent="coder")
        for n, age in ((1, 600_000), (2, 590_000))
    ] + [Event(3, NOW_MS - 5_000, "turn.claimed", turn=412, task="docs/T-412", agent="coder")]
    async with shown(deck) as (app, pilot):
        assert "slots 4/8" in screen_text(app)
        await pilot.press("left_square_bracket")
        await until_shown(pilot, "10 s ago · [ ] move · esc now · now: ! 1 needs you")
        assert "slots 3/8" in screen_text(app)
        await pilot.press("p")
        await until_shown(pilot, "hold deck: this is how it was; esc returns to now")
        await pilot.press("left_square_bracket")
        await until_shown(pilot, "20 s ago")
        await pilot.press("right_square_bracket")
        await until_shown(pilot, "10 s ago")
        await pilot.press("right_square_bracket")
        await until_gone(pilot, "as it was at")
        assert "slots 4/8" in screen_text(app)
        await pilot.press("left_square_bracket")
        await until_shown(pilot, "as it was at")
        await pilot.press("escape")
        await until_gone(pilot, "as it was at")
        assert deck.commands == []


async def test_who_looks_at_the_past_is_called_for_what_happens_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deck = StubDeck(busy_view(asks={}))
    deck.happened = [Event(1, NOW_MS - 600_000, "hold", fields={"what": "deck"})]
    async with shown(deck) as (app, pilot):
        rung: list[bool] = []
        monkeypatch.setattr(app, "bell", lambda: rung.append(True))
        await pilot.press("left_square_bracket")
        await until_shown(pilot, "ago · [ ] move")
        deck.publish(busy_view())
        await until_shown(pilot, '#408 T-408 asks: may I run "make deploy"? (! answers)')
        await until_shown(pilot, "ago · [ ] move · esc now · now: ! 1 needs you")
        assert rung == [True]
        await pilot.press("escape")
        await until_gone(pilot, "as it was at")
        assert rung == [True]


async def test_in_the_past_nothing_is_edited_answered_or_released() -> None:
    view = busy_view(holds=held("folder:1:2/x", "batchdeck", "the folder is missing"))
    deck = StubDeck(view)
    raised = {"name": "global", "before": 7, "after": 8}
    deck.happened = [
        Event(n, NOW_MS - age, "limit.changed", fields=raised) for n, age in ((1, 600_000), (2, 10))
    ]
    async with shown(deck) as (app, pilot):
        await pilot.press("Q", "left_square_bracket")
        await until_shown(pilot, "as it was at")
        await pilot.press("enter")
        await until_shown(pilot, "open: this is how it was; esc returns to now")
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "the folder is missing")
        await pilot.press("enter")
        await until_shown(pilot, "esc, and once more, returns to now")
        await pilot.press("h", "r", "j", "enter", "h", "r")
        await pilot.pause()
        assert len(app.screen_stack) == 3
        await pilot.press("escape", "escape")
        await until_gone(pilot, "as it was at")
        assert deck.commands == []


async def test_without_events_there_is_no_past() -> None:
    async with shown(StubDeck(busy_view())) as (_app, pilot):
        await pilot.press("right_square_bracket")
        await until_shown(pilot, "this is now")
        await pilot.press("left_square_bracket")
        await until_shown(pilot, "nothing is known of what was before")


def test_the_last_hour_of_an_agent_in_bars() -> None:
    turns = [
        turn(
            n,
            TurnState.SUCCEEDED,
            started_ms=NOW_MS - 30 * MINUTE,
            ended_ms=NOW_MS - 10 * MINUTE,
        )
        for n in (1, 2)
    ] + [turn(3, TurnState.RUNNING, started_ms=NOW_MS - 20 * MINUTE)]
    ended, running = agent_charts(
        view_of(turns, agents=[agent(parallelism_limit=4)]), "coder", NOW_MS, 12
    )
    assert ended.bars.count("█") == 1
    assert ended.words == "2 in the last hour"
    assert running.bars.strip() == "▄▄▆▆▆▂▂"
    assert running.words == "1 of 4 now"


async def test_a_turns_screen_shows_them_where_there_is_room() -> None:
    async with shown(StubDeck(busy_view())) as (_app, pilot):
        await pilot.press("j", "enter")
        await until_shown(pilot, "in the last hour")
