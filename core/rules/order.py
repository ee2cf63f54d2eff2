"""The order of service, and a turn's place in it."""

from __future__ import annotations

from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.view import DeckView


def service_order(view: DeckView) -> tuple[int, ...]:
    """Ids of the queued turns in the order of service."""
    queued = [t.service_key for t in view.turns.values() if t.state is TurnState.QUEUED]
    queued.sort()
    return tuple(key[2] for key in queued)


def place(turn: Turn, view: DeckView) -> int:
    """1-based place of a queued turn among the queued turns of its agent."""
    key = turn.service_key
    return 1 + sum(
        1
        for other in view.turns.values()
        if other.state is TurnState.QUEUED and other.agent == turn.agent and other.service_key < key
    )


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th` …"""
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
