"""The orders in which turns may be shown."""

from __future__ import annotations

from enum import StrEnum

from batchdeck.core.model.turn import Turn
from batchdeck.core.view import DeckView

_BEHIND_ALL = 2**62


class Sort(StrEnum):
    """What comes first; within it always what needs the operator, runs, waits, has ended."""

    NEED = "need"
    AGENT = "agent"
    PLACE = "place in the batch"
    STATE = "state"
    LATEST = "latest change"

    @property
    def following(self) -> Sort:
        orders = tuple(Sort)
        return orders[(orders.index(self) + 1) % len(orders)]


def sort_key(turn: Turn, view: DeckView, sort: Sort) -> tuple[str | int, ...]:
    """What goes before the usual key."""
    match sort:
        case Sort.AGENT:
            return (turn.agent,)
        case Sort.PLACE:
            task = None if turn.task is None else view.tasks.get(turn.task)
            return ("", _BEHIND_ALL) if task is None else (task.batch, task.position)
        case Sort.STATE:
            return (turn.state.value,)
        case Sort.LATEST:
            return (-(turn.ended_ms or turn.started_ms or turn.queued_ms),)
    return ()
