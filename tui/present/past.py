"""A moment of the past that is looked at, and the steps back and forth from it."""

from __future__ import annotations

from collections.abc import Sequence

from batchdeck.core.model.event import Event
from batchdeck.core.view import DeckView
from batchdeck.tui.present.durations import ago
from batchdeck.tui.present.happenings import moment
from batchdeck.tui.present.history import History
from batchdeck.tui.present.queues import Queues
from batchdeck.tui.present.scene import Kept, Scene

MOST_EVENTS = 20_000
_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
_STEPS = ((2 * _MINUTE, 10 * _SECOND), (_HOUR, _MINUTE), (24 * _HOUR, 10 * _MINUTE))
"""Up to which age a step is how long; further back it is an hour."""


class Past:
    """A moment that is looked at."""

    def __init__(self, view: DeckView, events: Sequence[Event], now_ms: int) -> None:
        self._history = History(view, events)
        self._now_ms = now_ms
        self._moment_ms = now_ms
        self._view = view
        self._queues = Queues()
        self._kept = Kept()

    @property
    def is_now(self) -> bool:
        return self._moment_ms >= self._now_ms

    def step(self, by: int) -> bool:
        """One step on (1) or back (-1); whether the events reach so far."""
        wanted = self._moment_ms + by * _step_ms(self._now_ms - self._moment_ms, by)
        moment = max(self._history.earliest_ms, wanted)
        if moment == self._moment_ms:
            return False
        self._moment_ms = moment
        if not self.is_now:
            self._view = self._history.at(moment)
            self._queues.update(self._view)
        return True

    def scene(self, now_ms: int, needing: int = 0) -> Scene:
        """The moment as every screen shows it; `needing`: how many things need a person by now."""
        when = f"{moment(self._moment_ms, now_ms)}, {ago(now_ms - self._moment_ms)}"
        by_now = f" · now: ! {needing} need{'s' * (needing == 1)} you" if needing else ""
        band = f"as it was at {when} · [ ] move · esc now{by_now}"
        return Scene(self._view, self._moment_ms, self._queues, band, kept=self._kept)


def _step_ms(age_ms: int, by: int) -> int:
    # going on, the step is that of the stretch one comes from
    reached = age_ms if by < 0 else age_ms - 1
    return next((step for up_to, step in _STEPS if reached < up_to), _HOUR)
