"""What agents' turns came to since the last view, added to their tallies when one is made."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.view import AgentTally

RECENT = 64
"""Ends of an agent's turns that its tally remembers."""

_GOOD = frozenset({TurnState.SUCCEEDED, TurnState.SUPERSEDED})
_BAD = frozenset({TurnState.FAILED, TurnState.INCOMPLETE, TurnState.LOST})
_NO_TALLY = AgentTally()


@dataclass(slots=True)
class _News:
    """What one agent's turns came to since the last view."""

    done: int = 0
    failed: int = 0
    ended_ms: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))


class Ends:
    """Ended turns that no tally has counted yet."""

    def __init__(self) -> None:
        self._news: dict[str, _News] = {}

    def note(self, turn: Turn, at_ms: int) -> None:
        """Counts an ended turn for its agent."""
        news = self._news.get(turn.agent)
        if news is None:
            news = self._news[turn.agent] = _News()
        news.done += turn.state in _GOOD
        news.failed += turn.state in _BAD
        news.ended_ms.append(at_ms)

    def add_to(self, tallies: dict[str, AgentTally]) -> None:
        """Adds what has ended since the last time."""
        for agent, news in self._news.items():
            tally = tallies.get(agent, _NO_TALLY)
            tallies[agent] = AgentTally(
                done=tally.done + news.done,
                failed=tally.failed + news.failed,
                recent_ms=(*tally.recent_ms, *news.ended_ms)[-RECENT:],
            )
        self._news.clear()
