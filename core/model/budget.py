"""What agents have used, and what a batch may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """What attempts used together, as far as their programs said so."""

    tokens: int = 0
    """Read and written."""
    money: float = 0.0
    unknown: int = 0
    """Attempts that did not say how many tokens they used."""
    unpriced: int = 0
    """Attempts of which nobody knows the price."""
    attempts: int = 0
    """All that have ended, these included."""


@dataclass(frozen=True, slots=True)
class TurnSpent:
    """What one turn has used in the attempts that have ended, and all turns of its task."""

    turn: Spent
    task: Spent | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a batch may use. A soft one warns, a hard one closes the batch."""

    batch: str
    tokens: int | None = None
    money: float | None = None
    hard: bool = False
    granted: int = 1
    """How often a person has allowed as much, the first time included."""
