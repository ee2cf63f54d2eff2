"""A task: one unit of work, and the moves its status may make."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from batchdeck.core.errors import BadInput


class Status(StrEnum):
    """Where a task stands."""

    BACKLOG = "BACKLOG"
    READY = "READY"
    IN_PROGRESS = "IN_PROGRESS"
    BLOCKED = "BLOCKED"
    FAILED = "FAILED"
    DONE = "DONE"
    MERGED = "MERGED"


class Because(StrEnum):
    """Why a task has FAILED that did not fail itself."""

    DEPENDENCY = "dependency"
    """One that it needs has failed."""
    CANCELLED = "cancelled"
    """A person ended it before it began, or while it waited."""


ADMISSIBLE = frozenset({Status.READY, Status.IN_PROGRESS})
"""Statuses whose tasks may be started."""

COMPLETED = frozenset({Status.DONE, Status.MERGED})
"""Statuses that count as done, for dependants and for the tally."""

SETTLED = COMPLETED | {Status.FAILED}
"""Statuses in which a batch does not wait for the task any more."""

MOVES: dict[Status, frozenset[Status]] = {
    Status.BACKLOG: frozenset({Status.READY, Status.DONE, Status.MERGED, Status.FAILED}),
    Status.READY: frozenset(
        {
            Status.BACKLOG,
            Status.IN_PROGRESS,
            Status.BLOCKED,
            Status.FAILED,
            Status.DONE,
            Status.MERGED,
        }
    ),
    Status.IN_PROGRESS: frozenset(
        {Status.READY, Status.BLOCKED, Status.FAILED, Status.DONE, Status.MERGED}
    ),
    Status.BLOCKED: frozenset(
        {Status.READY, Status.IN_PROGRESS, Status.FAILED, Status.DONE, Status.MERGED}
    ),
    Status.FAILED: frozenset(
        {Status.READY, Status.IN_PROGRESS, Status.BACKLOG, Status.DONE, Status.MERGED}
    ),
    Status.DONE: frozenset({Status.READY, Status.MERGED}),
    Status.MERGED: frozenset({Status.READY}),
}


def check_key(key: str) -> None:
    """
    Raises:
        BadInput: no task can be named so, for a command could not name it.
    """
    if not key or key.startswith("#") or "/" in key or any(part.isspace() for part in key):
        raise BadInput(f"{key!r} cannot be a task's id: no '/', no blank, no leading '#'.")


def may_move(before: Status, after: Status) -> bool:
    """Whether a task may go from `before` to `after`."""
    return after in MOVES[before]


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the engine and the screen know it; its prompt stays in the store."""

    id: int
    key: str
    """The id its batch file gave it, unique within the batch."""
    batch: str
    title: str
    agent: str
    status: Status
    conversation: int
    position: int
    """Place in the batch, from 0."""
    priority: int = 0
    target: str | None = None
    folder: str | None = None
    """The path as it was written, made absolute; the identity is the turn's."""
    issue: str | None = None
    depends_on: tuple[int, ...] = ()
    """Ids of tasks."""
    turn: int | None = None
    """Its latest task or retry turn."""
    attempts: int = 0
    """Attempts that count against `max_attempts`."""
    error: str | None = None
    because: Because | None = None
    updated_ms: int = 0
    index: int | None = None
    """Its item's place in the foreach, from 0; None: a task of its own."""
    step: int = 0
    """Of an item: the step it is at, from 0."""
    item: str | None = None
    """Of an item: its value as JSON."""
    wrote: str = ""
    """Of an item: its latest write, as one short line."""
    barrier: bool = False
    """It stands for the barrier of its batch's foreach, and is done when that is committed."""
    shared: str | None = None
    """Of an item: the name of the conversation that its step goes on in; None: its own."""

    @property
    def name(self) -> str:
        """`BATCH/TASK`, the name that is never ambiguous."""
        return f"{self.batch}/{self.key}"
