"""An ask: a question of an agent, or a permission it wants, to be answered by a person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AskState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Ask:
    id: int
    turn: int
    question: str
    choices: tuple[str, ...] = ()
    schema: str | None = None
    """JSON schema of the answer, as text."""
    default: str | None = None
    alive: bool = False
    """Its process still runs and waits for the answer."""
    scope: str | None = None
    """Of a permission: what an *allow always* is about; None: it is a question."""
    covers: str = ""
    """The scope in words."""
    state: AskState = AskState.OPEN
    answer: str | None = None
    opened_ms: int = 0
    answered_ms: int | None = None
    answered_by: str | None = None

    @property
    def is_permission(self) -> bool:
        """Whether it is about what the agent may do, and not a question about its work."""
        return self.scope is not None

    @property
    def headline(self) -> str:
        """The first line of what is asked."""
        first, newline, _rest = self.question.strip().partition("\n")
        return f"{first} …" if newline and not self.is_permission else first
