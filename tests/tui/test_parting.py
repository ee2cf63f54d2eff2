"""What stands in the terminal after leaving: how it is, and how it is taken up again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.task import Because, Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.present.parting import parting_lines
from tests.support.stub_deck import agent, batch, task, turn, view_of


def test_an_empty_deck_says_nothing() -> None:
    assert parting_lines(DeckView(), "batchdeck") == []


def test_what_goes_on_and_what_waits_is_counted_with_the_way_back() -> None:
    turns = [turn(1, TurnState.RUNNING), turn(2, TurnState.RUNNING), turn(3)]
    view = view_of(turns, [task(n, Status.READY) for n in (1, 2, 3)], [agent()], [batch("docs")])
    assert parting_lines(view, "batchdeck") == [
        "docs: 0 done of 3",
        "2 turns go on, 1 waits. Take up again: batchdeck",
    ]


def test_a_batch_that_was_not_added_to_its_end_is_not_said_to_be_taken_up_again() -> None:
    half = replace(batch("docs"), adding=1)
    view = view_of([turn(1)], [task(1, Status.READY)], [agent()], [half])
    told = parting_lines(view, "batchdeck")
    assert told[0] == "docs was not added to its end: run its file again"
    assert "0 done" in parting_lines(view, "batchdeck", attached=True)[0], "there it goes on"


def test_what_cannot_go_on_is_not_said_to() -> None:
    turns = [turn(1, TurnState.RUNNING), turn(2, TurnState.WAITING)]
    view = view_of(turns, [], [agent("coder", AgentKind.DEMO)])
    assert parting_lines(view, "batchdeck --deck /d") == [
        "1 turn starts again next time, 1 asks you. Take up again: batchdeck --deck /d",
    ]


def test_what_may_have_changed_anything_is_not_said_to_start_again() -> None:
    turns = [turn(n, TurnState.RUNNING, agent=name) for n, name in enumerate("abcc", 1)]
    kinds = {"a": AgentKind.COMMAND, "b": AgentKind.OPENAI, "c": AgentKind.ACP}
    view = view_of(turns, [], [agent(name, kind) for name, kind in kinds.items()])
    assert parting_lines(view, "batchdeck") == [
        "1 turn goes on, 1 turn starts again next time, "
        "2 turns ask next time whether they start again. Take up again: batchdeck",
    ]
    one = view_of(turns[2:3], [], [agent("c", AgentKind.ACP)])
    assert "1 turn asks next time whether it starts again." in parting_lines(one, "batchdeck")[0]


def test_a_batch_that_has_ended_names_its_failures_and_where_to_read_them() -> None:
    tasks = [
        task(1, Status.DONE, batch="long"),
        task(2, Status.FAILED, error="exit 2", batch="long"),
        task(3, Status.FAILED, because=Because.CANCELLED, batch="long"),
    ]
    ended = batch("long", state=BatchState.COMPLETED_WITH_ERRORS)
    view = view_of([], tasks, [agent()], [ended])
    assert parting_lines(view, "batchdeck") == [
        "long: 1 done, 1 failed, 1 cancelled of 3 · batchdeck tasks --status FAILED"
    ]


@pytest.mark.parametrize("queued", [1, 2])
def test_nothing_runs_and_something_waits(queued: int) -> None:
    view = view_of([turn(n) for n in range(queued)], [], [agent()])
    words = "1 turn waits" if queued == 1 else "2 turns wait"
    assert parting_lines(view, "batchdeck") == [f"{words}. Take up again: batchdeck"]


def test_an_attached_screen_leaves_the_deck_as_it_is() -> None:
    view = view_of([turn(1, TurnState.RUNNING), turn(2)], [], [agent()])
    assert parting_lines(view, "batchdeck", attached=True) == [
        "The deck goes on without this screen: 1 turn running, 1 queued."
    ]
