"""Permissions: what an agent wants to do now, a person's word, and what is always allowed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Decision(StrEnum):
    """A person's word about a permission, or why there is none."""

    ALLOW_ONCE = "allow once"
    ALLOW_ALWAYS = "allow always"
    DENY = "deny"
    CANCELLED = "cancelled"
    """Its turn is being stopped, or has ended."""
    UNANSWERED = "unanswered"
    """Nobody is there who could be asked."""


@dataclass(frozen=True, slots=True)
class Permission:
    """What a live agent asks for; every text in it is clean."""

    question: str
    """The whole request: the tool, its arguments, what it would change."""
    title: str
    """The same in one line."""
    scope: str
    """What two requests have in common that one *allow always* is about."""
    covers: str
    """The scope in words: `edit in its folder`, `this very call: npm test`."""
    choices: tuple[Decision, ...] = (Decision.ALLOW_ONCE, Decision.ALLOW_ALWAYS, Decision.DENY)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a person has allowed an agent for always, until it is taken back."""

    id: int
    """The ask that was answered so."""
    agent: str
    scope: str
    covers: str
    by: str
    at_ms: int
