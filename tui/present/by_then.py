"""How a batch's tasks stood at the moment that an event tells of; the view is often a later one."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence

from batchdeck.core.model.event import Event
from batchdeck.core.model.task import COMPLETED, Status
from batchdeck.core.view import DeckView
from batchdeck.tui.present.ended import Ended, EndedTasks

_TELL = frozenset({"turn.finished", "batch.finished"})
_DONE, _FAILED, _CANCELLED = "done", "failed", "cancelled"


def ended_by_then(events: Sequence[Event], view: DeckView, tasks: EndedTasks) -> dict[int, Ended]:
    """By `seq`, for each end of a turn or a batch: how the batch's tasks stood with it.

    Args:
        events: In order, those that were not told before; the latest may not be in `view` yet.
        tasks: What counts the tasks from view to view.
    """
    if not any(event.kind in _TELL for event in events):
        return {}
    cancelled = tasks.cancelled(view)
    names = {event.batch for event in events if event.batch is not None}
    now = {name: tasks.of(view, [name]) for name in names}
    counts = {name: Counter(_numbers(ended)) for name, ended in now.items()}
    unseen = {event.task for event in events if _is_unseen(event, view)}
    to_come: dict[str, deque[Event]] = defaultdict(deque)
    for event in events:
        if _moves(event):
            if event.task not in unseen:
                _apply(event, counts, cancelled, -1)
            to_come[event.task or ""].append(event)
    found: dict[int, Ended] = {}
    for event in events:
        coming = to_come[event.task or ""]
        # the end of a turn is told just before what it means for its task
        if coming and (event is coming[0] or event.kind == "turn.finished"):
            _apply(coming.popleft(), counts, cancelled, 1)
        if event.kind in _TELL and event.batch is not None:
            count = counts[event.batch]
            done, failed, gone = (max(0, count[kind]) for kind in (_DONE, _FAILED, _CANCELLED))
            found[event.seq] = Ended(done, failed, gone, now[event.batch].total)
    return found


def _numbers(ended: Ended) -> dict[str, int]:
    return {_DONE: ended.done, _FAILED: ended.failed, _CANCELLED: ended.cancelled}


def _is_unseen(event: Event, view: DeckView) -> bool:
    """Whether it tells of an end that the view does not know of."""
    if event.kind != "turn.finished" or event.turn is None:
        return False
    turn = view.turns.get(event.turn)
    return turn is not None and turn.ended_ms is None


def _moves(event: Event) -> bool:
    return event.kind == "task.status" and event.batch is not None and event.task is not None


def _apply(
    event: Event, counts: dict[str, Counter[str]], cancelled: frozenset[str], times: int
) -> None:
    count = counts[event.batch or ""]
    for field, sign in (("before", -1), ("status", 1)):
        status = Status(event.fields[field])
        if status in COMPLETED:
            count[_DONE] += sign * times
        elif status is Status.FAILED:
            count[_CANCELLED if event.task in cancelled else _FAILED] += sign * times
