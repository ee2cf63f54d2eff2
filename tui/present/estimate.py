"""How much longer a deck will need, judged by what ended lately."""

from __future__ import annotations

from batchdeck.core.view import DeckView
from batchdeck.tui.present.durations import rough

_LOOK_BACK_MS = 30 * 60_000
_ENOUGH = 3
"""Turns that must have ended before a rate means anything."""


def remaining_ms(view: DeckView, left: int, now_ms: int) -> int | None:
    """Milliseconds until `left` tasks are done at the present rate; None: it cannot be said.

    The rate is what ended since the oldest end that is still known (each agent keeps its latest
    64), so it follows a change of the limits within minutes.
    """
    ends = [
        end
        for tally in view.agent_tallies.values()
        for end in tally.recent_ms
        if now_ms - end <= _LOOK_BACK_MS
    ]
    if left <= 0 or len(ends) < _ENOUGH or not view.running:
        return None
    span = max(1, now_ms - min(ends))
    return left * span // len(ends)


def estimate_words(view: DeckView, left: int, now_ms: int) -> str:
    """`~14 min`, or nothing."""
    remaining = remaining_ms(view, left, now_ms)
    return "" if remaining is None else f"~{rough(max(60_000, remaining))}"
