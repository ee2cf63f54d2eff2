"""Lines about ends count what had ended by then, however many ends are told at once."""

from __future__ import annotations

from typing import Any

from batchdeck.core.model.event import Event
from batchdeck.core.model.task import Because, Status
from batchdeck.core.model.turn import TurnState
from batchdeck.tui.present.by_then import ended_by_then
from batchdeck.tui.present.ended import Ended, EndedTasks
from tests.support.stub_deck import NOW_MS, agent, batch, task, turn, view_of


def ends(seq: int, number: int, status: Status) -> list[Event]:
    """A turn's end, and what it means for its task."""
    about: dict[str, Any] = {"task": f"docs/T-{number}", "batch": "docs"}
    fields = {"before": "IN_PROGRESS", "status": str(status)}
    return [
        Event(seq, NOW_MS, "turn.finished", turn=number, **about),
        Event(seq + 1, NOW_MS, "task.status", **about, fields=fields),
    ]


def test_each_end_tells_how_many_had_ended_by_then() -> None:
    told = [*ends(1, 1, Status.DONE), *ends(3, 2, Status.FAILED), *ends(5, 3, Status.FAILED)]
    told.append(Event(7, NOW_MS, "batch.finished", batch="docs"))
    tasks = [
        task(1, Status.DONE),
        task(2, Status.FAILED),
        task(3, Status.FAILED, because=Because.CANCELLED),
        task(4, Status.DONE),
    ]
    view = view_of([], tasks, [agent()], [batch("docs")])
    assert ended_by_then(told, view, EndedTasks()) == {
        1: Ended(done=2, failed=0, cancelled=0, total=4),
        3: Ended(done=2, failed=1, cancelled=0, total=4),
        5: Ended(done=2, failed=1, cancelled=1, total=4),
        7: Ended(done=2, failed=1, cancelled=1, total=4),
    }


def test_an_end_that_the_view_does_not_know_of_yet_counts_all_the_same() -> None:
    told = [*ends(1, 1, Status.DONE), *ends(3, 2, Status.DONE)]
    tasks = [task(1, Status.DONE), task(2, Status.IN_PROGRESS), task(3)]
    turns = [turn(1, TurnState.SUCCEEDED, task=1), turn(2, TurnState.RUNNING, task=2)]
    found = ended_by_then(told, view_of(turns, tasks, [agent()], [batch("docs")]), EndedTasks())
    assert [ended.done for ended in found.values()] == [1, 2]
