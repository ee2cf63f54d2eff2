"""Where an item of a foreach stands, and which items may be at work: in item order, all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto

from batchdeck.core.model.line import lines_of
from batchdeck.core.model.task import COMPLETED, Status, Task
from batchdeck.core.model.turn import LIVE, Trigger, Turn, TurnState


class Stage(Enum):
    """How an item counts against the limits of its foreach."""

    UNBEGUN = auto()
    """Its first turn is queued."""
    RETURNING = auto()
    """Begun, and back from a person: it goes before those that have not begun."""
    RETRIED = auto()
    """It had failed, and a person has it tried again."""
    ACTIVE = auto()
    """At work, or waiting for a slot."""
    WAITING = auto()
    """A person is to answer."""
    IDLE = auto()
    """Not to be started as it is."""
    OVER = auto()


OUTSTANDING = (Stage.ACTIVE, Stage.RETURNING, Stage.WAITING)
_RANKS = {Stage.RETURNING: 0, Stage.RETRIED: 1, Stage.UNBEGUN: 2}
CANDIDATES = frozenset(_RANKS)


def stage_of(task: Task, turn: Turn | None) -> Stage:
    """The stage of an item. `turn`: its latest turn that decides it, where that is known."""
    if task.status in COMPLETED:
        return Stage.OVER
    if turn is not None and turn.ended_ms is not None:
        turn = None
    if turn is not None and turn.state in LIVE:
        return Stage.ACTIVE
    if task.status is Status.FAILED:
        if turn is None:
            return Stage.OVER
        return Stage.ACTIVE if task.attempts else Stage.RETRIED
    if task.status is Status.BLOCKED:
        return Stage.WAITING
    if task.status is Status.IN_PROGRESS:
        return Stage.ACTIVE
    if turn is None or task.status is Status.BACKLOG:
        return Stage.IDLE
    if task.step == 0 and turn.trigger is Trigger.TASK:
        return Stage.UNBEGUN
    return Stage.RETURNING


def may_be_chosen(stage: Stage, turn: Turn | None) -> bool:
    """Whether an item could be put to work if there were room."""
    return (
        stage in CANDIDATES
        and turn is not None
        and turn.state is TurnState.QUEUED
        and turn.held_by is None
        and not turn.blocked
    )


Candidate = tuple[int, int, int]
"""`(rank, item's index, turn)`: they are put to work in this order."""


def candidate(stage: Stage, index: int, turn: int) -> Candidate:
    return (_RANKS[stage], index, turn)


def begins(one: Candidate) -> bool:
    """Whether it becomes outstanding by being chosen; one that returns has never ceased to be."""
    return one[0] > 0


def in_the_way(at_work: Iterable[Turn], first_of: Callable[[str], Turn | None]) -> dict[int, Turn]:
    """The turns that queued ones of items at work wait behind, and those that these wait behind.

    An item that is not at work and has one of them goes on whatever its limits say: or none of them
    could. There may be more at work by it than the limit allows, until one has ended.

    Args:
        first_of: The turn that is first in a line; None where it is the only one there.
    """
    found: dict[int, Turn] = {}
    behind = list(at_work)
    for turn in behind:
        for line in lines_of(turn):
            first = first_of(line)
            if first is not None and first.id != turn.id and first.id not in found:
                found[first.id] = first
                behind.append(first)
    return found


def chosen(
    candidates: Iterable[Candidate],
    active: int,
    outstanding: int,
    max_active: int | None,
    max_outstanding: int | None,
) -> Iterator[Candidate]:
    """Those of the candidates, given in order, that may be at work beside `active` others.

    Beside them goes who is `in_the_way` of one of them, or of one that is at work.
    """
    for one in candidates:
        if max_active is not None and active >= max_active:
            return
        if begins(one) and max_outstanding is not None and outstanding >= max_outstanding:
            return
        active += 1
        outstanding += begins(one)
        yield one
