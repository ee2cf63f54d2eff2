"""How often the screen takes a new view: ten times a second, or as often as drawing allows."""

from __future__ import annotations

LEAST_REST_SECONDS = 0.1
"""The screen takes a new view at most ten times a second."""
MOST_REST_SECONDS = 0.25
"""However much there is to draw."""
SHARE = 1 / 30
"""Of the event loop's time that drawing may take: the engine works on the same loop."""


class Pace:
    """Adds up what drawing costs between one view and the next; times are seconds."""

    def __init__(self) -> None:
        self.spent = 0.0
        """Since the last rest."""

    def spend(self, seconds: float) -> None:
        """Something was drawn, which took so long."""
        self.spent += seconds

    def rest(self) -> float:
        """How long to wait before the next view, now that one has been drawn."""
        spent, self.spent = self.spent, 0.0
        return min(MOST_REST_SECONDS, max(LEAST_REST_SECONDS, spent / SHARE))
