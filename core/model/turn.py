"""A turn: one request that an agent work, from its receipt to its end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from batchdeck.core.model.folder import Folder
from batchdeck.core.model.task import Status


class TurnState(StrEnum):
    """Where a turn stands; the last six are ends, and ends are final."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INCOMPLETE = "incomplete"
    CANCELLED = "cancelled"
    LOST = "lost"
    SUPERSEDED = "superseded"


LIVE = frozenset({TurnState.RUNNING, TurnState.STOPPING})
"""States that hold slots."""

ENDED = frozenset(
    {
        TurnState.SUCCEEDED,
        TurnState.FAILED,
        TurnState.INCOMPLETE,
        TurnState.CANCELLED,
        TurnState.LOST,
        TurnState.SUPERSEDED,
    }
)

_ENDS_OF_A_RUN = frozenset(
    {
        TurnState.SUCCEEDED,
        TurnState.FAILED,
        TurnState.INCOMPLETE,
        TurnState.CANCELLED,
        TurnState.LOST,
        TurnState.SUPERSEDED,
    }
)

TURN_MOVES: dict[TurnState, frozenset[TurnState]] = {
    TurnState.QUEUED: frozenset({TurnState.RUNNING, TurnState.CANCELLED, TurnState.SUPERSEDED}),
    # back to queued: fenced before its start, or interrupted by a crash
    TurnState.RUNNING: frozenset({TurnState.QUEUED, TurnState.STOPPING, TurnState.WAITING})
    | _ENDS_OF_A_RUN,
    TurnState.STOPPING: frozenset({TurnState.QUEUED}) | _ENDS_OF_A_RUN,
    TurnState.WAITING: frozenset(
        {TurnState.SUCCEEDED, TurnState.CANCELLED, TurnState.SUPERSEDED, TurnState.FAILED}
    ),
} | {state: frozenset() for state in ENDED}


def is_move(before: TurnState, after: TurnState) -> bool:
    """Whether a turn may go from one state to another, or stay as it is."""
    return after is before or after in TURN_MOVES[before]


class Trigger(StrEnum):
    """What asked for a turn."""

    TASK = "task"
    CHAT = "chat"
    REPLY = "reply"
    ANSWER = "answer"
    RETRY = "retry"
    RECEIPT = "receipt"


DECIDES_TASK = frozenset({Trigger.TASK, Trigger.RETRY, Trigger.ANSWER})
"""Triggers whose turns change their task's status, tally and result."""

MESSAGE_PRIORITY = 100
"""Priority of chat, reply and answer turns, unless given."""


class AttemptEnd(StrEnum):
    """How one claim of a turn ended."""

    EXITED = "exited"
    STOPPED = "stopped"
    TIMED_OUT = "timed out"
    INTERRUPTED = "interrupted"
    FENCED = "fenced"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Turn:
    """The row that is queued, and keeps its position until it has ended."""

    id: int
    agent: str
    conversation: int
    trigger: Trigger
    position: int
    """Given once, at receipt; the order of service within one priority."""
    state: TurnState = TurnState.QUEUED
    priority: int = 0
    task: int | None = None
    """The task whose conversation this is."""
    batch: str | None = None
    target: str | None = None
    folder: Folder | None = None
    lane: Status | None = None
    """Queued: the lane it would get; running: the lane it was admitted in."""
    not_before_ms: int = 0
    held_by: str | None = None
    """Who holds this one turn, if anybody does."""
    authorised: bool = True
    depends_on: tuple[int, ...] = ()
    """Tasks that must be DONE or MERGED first; empty where nothing is open any more."""
    blocked: bool = False
    """Its task's status (BACKLOG, BLOCKED) does not admit it."""
    forced: tuple[str, ...] = ()
    """Names of the gates a person sent it past."""
    forced_by: str | None = None
    attempt: str | None = None
    """The id of its latest attempt (uuid)."""
    attempts: int = 0
    """The number of its latest attempt: the attempts that count of all turns of its task since a
    person told it to begin or to try again, the one at work included."""
    queued_ms: int = 0
    started_ms: int | None = None
    ended_ms: int | None = None
    exit_code: int | None = None
    error: str | None = None
    stopped_by: str | None = None
    """The person who ended it; None: it came to its end, or what happened elsewhere ended it."""
    title: str = ""
    """One clean line: the task's title or the message's beginning."""

    @property
    def service_key(self) -> tuple[int, int, int]:
        """Sorts turns in the order of service: priority descending, then position, then id."""
        return (-self.priority, self.position, self.id)
