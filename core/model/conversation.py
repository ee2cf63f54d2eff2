"""A conversation: the thread of messages between operator and agent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    OPERATOR = "operator"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Conversation:
    id: int
    agent: str
    task: int | None = None
    session: str | None = None
    """The agent program's own id of the conversation, with which it is taken up again."""
    title: str = ""
    batch: str | None = None
    """Of a named one: its batch."""
    called: str | None = None
    """The name that steps of a foreach give it; within its batch there is one of that name."""
    session_cost: float | None = None
    """What the session has cost so far; None: its program does not tell that."""

    @property
    def name(self) -> str:
        """The id as people write it: `c12`."""
        return f"c{self.id}"


@dataclass(frozen=True, slots=True)
class Message:
    id: int
    conversation: int
    turn: int
    role: Role
    text: str
    at_ms: int
