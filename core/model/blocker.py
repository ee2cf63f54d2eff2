"""A blocker: a question that keeps a task BLOCKED until it is answered or resolved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BlockerState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    RESOLVED = "resolved"
    """It is no longer in the way, without an answer."""


@dataclass(frozen=True, slots=True)
class Blocker:
    id: int
    task: int
    question: str
    ask: int | None = None
    """The agent's question that opened it; None: a person did."""
    state: BlockerState = BlockerState.OPEN
    answer: str | None = None
    opened_ms: int = 0
    opened_by: str | None = None
    answered_ms: int | None = None
    answered_by: str | None = None
    spent: bool = False
    """Its task has left BLOCKED since; it says nothing about a later time."""


def is_open(blocker: Blocker | None) -> bool:
    """Whether somebody still has to answer."""
    return blocker is not None and blocker.state is BlockerState.OPEN
