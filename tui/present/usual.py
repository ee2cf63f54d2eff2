"""How long turns of an agent usually take, judged by those that have ended."""

from __future__ import annotations

from statistics import quantiles

from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.present.durations import rough

_ENOUGH = 5
"""Turns that must have ended before a range means anything."""
_RAN_TO_ITS_END = frozenset({TurnState.SUCCEEDED, TurnState.FAILED, TurnState.INCOMPLETE})


def usual_words(view: DeckView, agent: str) -> str:
    """`Turns of coder usually take 4 to 9 min.`, the middle half of them; or nothing."""
    spans = [_span(turn) for turn in view.turns.values() if _counts(turn, agent)]
    if len(spans) < _ENOUGH:
        return ""
    low, _, high = quantiles(spans, n=4)
    return f"Turns of {agent} usually take {_range_words(round(low), round(high))}."


def _counts(turn: Turn, agent: str) -> bool:
    return turn.agent == agent and turn.state in _RAN_TO_ITS_END and turn.started_ms is not None


def _span(turn: Turn) -> int:
    return (turn.ended_ms or 0) - (turn.started_ms or 0)


def _range_words(low: int, high: int) -> str:
    least, most = rough(max(1_000, low)), rough(max(1_000, high))
    if least == most:
        return f"about {most}"
    number, unit = least.split()
    return f"{number} to {most}" if most.endswith(f" {unit}") else f"{least} to {most}"
