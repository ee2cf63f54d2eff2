"""Whether the terminal takes what is written, or falls behind."""

from __future__ import annotations

_SLOW_SECONDS = 0.25
"""A terminal that still has unwritten bytes after so long is slow."""
_RECOVERED_SECONDS = 30.0
"""It is trusted again after so long without that."""


class Bandwidth:
    """Told by the screen before each paint; times are `time.monotonic`."""

    def __init__(self) -> None:
        self.low = False
        """Fewer updates, and no bars."""
        self._pending_since: float | None = None
        self._slow_at = 0.0

    def blocked(self, now: float) -> bool:
        """Bytes are pending; whether the terminal has just turned out to be slow."""
        if self._pending_since is None:
            self._pending_since = now
        if now - self._pending_since <= _SLOW_SECONDS:
            return False
        self._slow_at = now
        became, self.low = not self.low, True
        return became

    def flows(self, now: float) -> bool:
        """Nothing is pending; whether the terminal has just recovered."""
        self._pending_since = None
        if not self.low or now - self._slow_at < _RECOVERED_SECONDS:
            return False
        self.low = False
        return True
