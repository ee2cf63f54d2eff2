"""A batch: a named set of tasks run together, with its own limits and failure policy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from batchdeck.core.model.foreach import Foreach


class BatchState(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    COMPLETED_WITH_ERRORS = "completed_with_errors"
    FAILED = "failed"
    CANCELLED = "cancelled"


BATCH_EXIT_CODES = {
    BatchState.COMPLETED: 0,
    BatchState.COMPLETED_WITH_ERRORS: 5,
    BatchState.FAILED: 1,
    BatchState.CANCELLED: 1,
}


class OnError(StrEnum):
    FAIL = "fail"
    SKIP = "skip"
    COLLECT = "collect"


class Interrupt(StrEnum):
    QUIESCE = "quiesce"
    CONTINUE = "continue"


INBOX = "inbox"
"""The batch of tasks that were added without one."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a barrier committed, once and for good."""

    items: int
    """Items whose writes are the batch's values now."""
    patches: int
    digest: str
    """Of these writes in item order, so that other rows are found out."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as the engine and the screen know it."""

    id: int
    name: str
    state: BatchState = BatchState.RUNNING
    on_error: OnError = OnError.SKIP
    collect_to: str | None = None
    interrupt: Interrupt = Interrupt.CONTINUE
    max_attempts: int = 1
    reconciliation_interval_seconds: float = 30.0
    base: str = ""
    """The folder that its relative paths start at."""
    file: str | None = None
    prepare: tuple[tuple[str, ...], ...] = ()
    created_ms: int = 0
    ended_ms: int | None = None
    stopped_admitting: bool = False
    """`on_error: fail` has seen a failure: nothing new starts."""
    foreach: Foreach | None = None
    committed: Commit | None = None
    """What the barrier of its foreach committed; None: nothing yet."""
    adding: int | None = None
    """The first of its new tasks while it is being added; nothing of it starts."""
    broken: str | None = None
    """What does not make sense in its stored foreach; then nothing of it is touched."""
