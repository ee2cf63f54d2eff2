"""Time as a dependency: monotonic for durations, UTC milliseconds for what is stored."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where the engine takes the time from."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never jumps, does not run while suspended."""
        ...

    def now_ms(self) -> int:
        """UTC milliseconds since 1970."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000
