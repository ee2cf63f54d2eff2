"""What an operator in a hurry reads on a small screen: nothing that matters is cut away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.app import App
from textual.widgets import Static

from batchdeck.core.model.ask import Ask
from batchdeck.core.model.event import Event
from batchdeck.core.model.foreach import Foreach, Step
from batchdeck.core.model.issue import TrackerStanding
from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.model.permission import Allowance
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from batchdeck.core.view import ItemsStanding, Pulse
from batchdeck.tui.present.happenings import moment
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.turns import turn_row
from batchdeck.tui.widgets.output_pane import OutputPane
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, folder, shown

pytestmark = pytest.mark.anyio

SMALL = pytest.mark.parametrize("size", [(60, 15), (80, 24)])
QUESTION = "Which branch shall I take for the documentation: main, or the one of last week's team?"


def asking_view() -> object:
    """One whose process lives and one whose process is gone; both wait for a person."""
    turns = [
        turn(1, TurnState.WAITING),
        turn(2, TurnState.RUNNING),
        turn(
            3, TurnState.LOST, error="its runner died without a record: the machine was restarted"
        ),
    ]
    asks = {
        1: Ask(1, 1, QUESTION, opened_ms=NOW_MS - 900_000),
        2: Ask(2, 2, QUESTION, alive=True, opened_ms=NOW_MS - 900_000),
    }
    return view_of(turns, [task(t.id) for t in turns], [agent()], asks=asks)


@SMALL
@pytest.mark.parametrize("number", [1, 2])
async def test_a_turn_that_asks_shows_its_question_and_the_key_that_answers(
    size: tuple[int, int], number: int
) -> None:
    async with shown(StubDeck(asking_view()), size) as (app, pilot):
        app.open_turn(number)
        await until_shown(pilot, "no output yet: it waits for your answer (!)")
        text = " ".join(screen_text(app).split())
        assert f"asks: {QUESTION}" in text


async def test_a_question_that_comes_later_is_told_there_too() -> None:
    deck = StubDeck(busy_view(asks={}))
    async with shown(deck) as (app, pilot):
        app.open_turn(408)
        await until_shown(pilot, "no output yet")
        deck.publish(busy_view())
        await until_shown(pilot, "no output yet: it waits for your answer (!)")
        await until(pilot, lambda: "waits for you" in str(_output(app).border_subtitle))
        deck.publish(busy_view(asks={}))
        await until_gone(pilot, "it waits for your answer")


def _output(app: App[object]) -> OutputPane:
    return app.screen.query_one(OutputPane)


def test_how_long_a_turn_waits_for_a_person_counts_from_the_question() -> None:
    scene = Scene(asking_view(), NOW_MS)
    times = [turn_row(scene.view.turns[number], scene)[6].text for number in (1, 2)]
    assert times == ["15 min", "04:12"], "what waits is told roughly, what runs to the second"


def test_a_moment_of_another_day_is_not_taken_for_one_of_today() -> None:
    hour = 3_600_000
    today, before = moment(NOW_MS, NOW_MS), moment(NOW_MS - 30 * hour, NOW_MS)
    assert len(today) == 8
    assert today.count(":") == 2
    assert before[2] == "-"
    assert before.count(":") == 1


@SMALL
async def test_the_deck_itself_is_not_offered_no_limit(size: tuple[int, int]) -> None:
    deck = StubDeck(busy_view(limits={GLOBAL: 8}))
    async with shown(deck, size) as (app, pilot):
        await pilot.press("L")
        await until_shown(pilot, "the whole deck")
        assert "n none" not in screen_text(app)
        await pilot.press("n")
        await until_shown(pilot, "no limit: the deck itself needs one, 0 to 32")
        await pilot.press("plus")
        await until_shown(pilot, "enter apply")
        assert "n none" not in screen_text(app)


async def test_other_limits_are_offered_it() -> None:
    async with shown(StubDeck(busy_view()), (100, 24)) as (_, pilot):
        await pilot.press("L", "j")
        await until_shown(pilot, "n none")


@SMALL
async def test_a_limit_that_is_exceeded_says_by_how_much(size: tuple[int, int]) -> None:
    running = [turn(n, TurnState.RUNNING) for n in range(1, 5)]
    view = view_of(
        running,
        [task(t.id) for t in running],
        [agent(parallelism_limit=2)],
        [batch()],
        {"status:docs/READY": 3, "status:docs/BLOCKED": 0},
    )
    async with shown(StubDeck(view), size) as (_, pilot):
        await pilot.press("M")
        await until_shown(pilot, "4/2 over by 2")
        await pilot.press("escape", "shift+tab", "shift+tab")
        await until_shown(pilot, "4/3   over by 1")


@SMALL
async def test_folders_say_how_many_wait(size: tuple[int, int]) -> None:
    async with shown(StubDeck(busy_view()), size) as (app, pilot):
        await pilot.press("f")
        await until_shown(pilot, "under docs, #412")
        assert "waiting" in screen_text(app)


@SMALL
async def test_leaving_says_whole_what_becomes_of_each_turn(size: tuple[int, int]) -> None:
    adding = replace(batch("docs"), adding=433)
    view = replace(busy_view(), batches={"docs": adding})
    async with shown(StubDeck(view), size) as (app, pilot):
        await pilot.press("q")
        await until_shown(pilot, "4 turns are running")
        text = " ".join(screen_text(app).replace("│", " ").split())
        for words in (
            "3 go on, #408 (acp) cannot; nothing new starts; docs is not added to the end: run",
            "admit nothing new, leave when they have ended",
            "end them now (asks again)",
            "Stay",
        ):
            assert words in text


@SMALL
async def test_the_past_says_how_one_gets_back(size: tuple[int, int]) -> None:
    deck = StubDeck(busy_view())
    deck.happened = [Event(1, NOW_MS - 90_000, "turn.claimed", 412, "docs/T-412", "docs", "coder")]
    async with shown(deck, size) as (_, pilot):
        await pilot.press("left_square_bracket")
        await until_shown(pilot, "10 s ago · [ ] move · esc now")


@SMALL
async def test_help_keeps_what_goes_on_below_the_words_and_not_below_the_key(
    size: tuple[int, int],
) -> None:
    async with shown(StubDeck(busy_view()), size) as (app, pilot):
        await pilot.press("question_mark", *"write to the")
        await until_shown(pilot, "Write to the agent")
        lines = screen_text(app).splitlines()
        first = next(n for n, line in enumerate(lines) if "Write to the agent" in line)
        at = lines[first].index("Write")
        assert lines[first + 1][:at].strip("│ ") == ""
        assert lines[first + 1][at:].rstrip("│ ").endswith("one.")


async def test_a_preview_names_as_many_as_fit_and_counts_the_rest() -> None:
    async with shown(StubDeck(busy_view()), (60, 15)) as (app, pilot):
        await pilot.press("shift+tab", "plus")
        await until_shown(pilot, "still waits:")
        line = next(row for row in screen_text(app).splitlines() if "still waits" in row)
        assert line.endswith(" more")


def test_a_message_in_a_conversation_that_has_a_name_goes_by_it() -> None:
    steps = Foreach((Step("plan", "coder", "p", conversation="planner"),))
    standing = {"docs": ItemsStanding(1, 1, 2, 5)}
    item = task(1, Status.IN_PROGRESS, index=0, shared="planner", conversation=8)
    in_step = turn(1, TurnState.RUNNING, conversation=5)
    message, other = (
        turn(n, task=None, batch=None, lane=None, trigger=Trigger.CHAT, conversation=c)
        for n, c in ((2, 5), (3, 6))
    )
    docs = replace(batch(), foreach=steps)
    scene = Scene(view_of([in_step, message, other], [item], [agent()], [docs], items=standing), 0)
    assert [scene.name_of(one) for one in (in_step, message, other)] == ["T-1", "planner", "c6"]


async def test_a_title_of_wide_characters_leaves_the_columns_straight() -> None:
    wide = "漢字のとても長いタイトルをもつ仕事"
    turns = [turn(1, TurnState.RUNNING, folder=folder("/data/x")), turn(2, title=wide)]
    tasks = [task(1), task(2, key=wide, title=wide)]
    view = view_of(turns, tasks, [agent()], pulses={1: Pulse(3, NOW_MS, wide * 3)})
    async with shown(StubDeck(view), (80, 24)) as (app, _):
        rows = [line for line in screen_text(app).splitlines() if "漢字" in line]
        assert rows
        assert not [row for row in rows if "字 …" in row or "の …" in row or "長 …" in row]


@SMALL
async def test_all_that_a_tracker_says_and_all_of_an_event_can_be_read(
    size: tuple[int, int],
) -> None:
    says = "rejects the token in GITHUB_TOKEN (401): give another one, then press R to look at once"
    tracker = TrackerStanding("github api.github.com", False, says, NOW_MS - 60_000, issues=12)
    deck = StubDeck(busy_view(trackers=(tracker,)))
    error = "the list of owner/documentation could not be read to its end: the answer was cut off"
    deck.happened = [
        Event(1, NOW_MS - 90_000, "reconcile.error", fields={"error": error}),
        Event(2, NOW_MS - 80_000, "turn.claimed", 412, "docs/T-412", "docs", "coder"),
    ]
    async with shown(deck, size) as (app, pilot):
        await pilot.press("e")
        await until_shown(pilot, "turn.claimed")
        assert says in " ".join(screen_text(app).split())
        await pilot.press("k")
        await until(pilot, lambda: error in " ".join(screen_text(app).split()))


@SMALL
async def test_all_that_an_agent_may_always_do_can_be_read(size: tuple[int, int]) -> None:
    covers = (
        "run commands that begin with git -C /data/project/documentation commit --message and so on"
    )
    kept = Allowance(3, "coder", "s", covers, "op", NOW_MS - 90_000)
    async with shown(StubDeck(busy_view(allowances={3: kept})), size) as (app, pilot):
        await pilot.press("P")
        await until_shown(pilot, "1 min ago")
        place = app.screen.query_one("#whole", Static)
        await until(pilot, lambda: " ".join(str(place.content).split()) == covers)
        assert "x take it back" in screen_text(app)
