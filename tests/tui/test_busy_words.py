"""What the busy prompt says of the gates that are shut and of the turns that hold them."""

from __future__ import annotations

import pytest
from textual.widgets import TextArea

from batchdeck.core.model.gate import Gate, GateName, Holder
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.consequences import BusyAnswer
from batchdeck.tui.present.addressee import of_turn
from batchdeck.tui.present.busy import force_line, standing_lines
from batchdeck.tui.present.scene import Scene
from tests.support.screen import screen_text, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, folder, refuses_when_busy, shown


def an_answer(*gates: Gate) -> BusyAnswer:
    return BusyAnswer(gates, 1, 0, (), passable=False)


def lines(*gates: Gate) -> list[str]:
    return standing_lines(an_answer(*gates), Scene(busy_view(), NOW_MS))


HOLDS_BOTH, HOLDS_ONE = Holder(412, "T-412", NOW_MS - 252_000), Holder(419, "T-419", NOW_MS)
AGENT = Gate(GateName.AGENT, False, "coder", 2, 2, (HOLDS_BOTH, HOLDS_ONE))
FOLDER = Gate(GateName.FOLDER, False, "/data/project/docs", 1, 1, (HOLDS_BOTH,))


def test_a_turn_that_holds_several_gates_is_named_once_and_says_which() -> None:
    assert lines(AGENT, FOLDER) == [
        "agent coder 2/2",
        "folder docs busy",
        "  #412  T-412  04:12  last output 2 s ago  (agent, folder)",
        "  #419  T-419  00:00  (agent)",
    ]
    assert force_line(an_answer(FOLDER), "/data/project/.batchdeck") == (
        "It cannot be sent now: folder docs busy."
    )


def test_one_gate_needs_no_such_word_and_very_many_holders_are_counted() -> None:
    many = tuple(Holder(number, None, NOW_MS) for number in range(1, 8))
    assert lines(FOLDER)[1:] == ["  #412  T-412  04:12  last output 2 s ago"]
    assert lines(Gate(GateName.GLOBAL, False, "", 7, 7, many))[-1] == "  and 3 more"
    scene = Scene(busy_view(), NOW_MS)
    short = standing_lines(an_answer(AGENT, Gate(GateName.GLOBAL, False, "", 7, 7, many)), scene, 5)
    assert len(short) == 5
    assert short[-1] == "  and 7 more"


def test_what_nobody_holds_says_once_when_it_opens() -> None:
    later = Gate(GateName.NOT_BEFORE, False, "", frees="in 4 min")
    closed = Gate(GateName.AGENT, False, "coder", 0, 0, frees="when its limit is raised")
    assert lines(later) == ["starts in 4 min"]
    assert lines(closed) == ["agent coder closed, opens when its limit is raised"]


def test_a_holder_that_is_only_queued_is_not_timed_to_the_second() -> None:
    before = Gate(
        GateName.TARGET, False, "issue-12", 1, None, (Holder(434, "T-434", NOW_MS - 9_000),)
    )
    assert lines(before)[1:] == ["  #434  T-434  queued <1 min"]


@pytest.mark.anyio
@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_all_of_it_stands_on_a_small_screen(size: tuple[int, int]) -> None:
    """Several gates, as many holders as are named, a title and a text that are long."""
    place = folder("/data/project/docs/guide")
    running = [turn(n, TurnState.RUNNING, agent="coder") for n in range(1, 8)]
    running[0] = turn(1, TurnState.RUNNING, folder=place)
    last = turn(20, TurnState.SUCCEEDED, folder=place, conversation=20)
    view = view_of(
        [*running, last],
        [task(t.id) for t in (*running, last)],
        [agent("coder", parallelism_limit=7)],
        [batch()],
        limits={"global": 7, "batch:docs": 7},
    )
    deck = StubDeck(view)
    refuses_when_busy(deck)
    async with shown(deck, size) as (app, pilot):
        app.write_to(of_turn(last, app.scene()).to, last)
        await pilot.pause()
        app.screen.query_one(TextArea).text = "hello " * 30
        await pilot.press("enter")
        await until_shown(pilot, "coder is busy")
        seen = screen_text(app)
        for words in ("agent coder 7/7", "folder docs/guide busy", "> hello", "Add to queue"):
            assert words in seen
        for key in ("enter", "n", "d", "esc"):
            assert f"  {key} " in seen
