"""When a tracker that fails, or limits us, is asked again: by itself, and never before it said."""

from __future__ import annotations

import random

FIRST_WAIT = 5.0
LONGEST_WAIT = 300.0


class Sparing:
    """A breaker: open after a failure until a time; the first good answer closes it."""

    def __init__(self) -> None:
        self.words = ""
        """Why it is spared, or what was last wrong."""
        self._until = 0.0
        self._failures = 0

    def failed(self, words: str, now: float, wait: float | None = None) -> None:
        """Notes a failure. `wait`: seconds that it asked for; else failures add up to more."""
        self._failures += 1
        if wait is None:
            wait = min(FIRST_WAIT * 2 ** min(self._failures - 1, 10), LONGEST_WAIT)
        self.words = words
        # never earlier than was asked for, and not all at the same moment
        self._until = now + wait * random.uniform(1.0, 1.1)

    def worked(self) -> None:
        self.words, self._until, self._failures = "", 0.0, 0

    def left(self, now: float) -> float:
        """Seconds for which it is not to be asked."""
        return max(0.0, self._until - now)
