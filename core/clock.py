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
    """The machine's own clocks; a wall clock that is set while we run changes nothing.

    UTC is read once and goes on by the clock that counts suspend too, where the system has one.
    """

    def __init__(self) -> None:
        self._start_ms = time.time_ns() // 1_000_000
        self._start = _since_boot()

    def monotonic(self) -> float:
        return time.monotonic()

    def now_ms(self) -> int:
        return self._start_ms + int((_since_boot() - self._start) * 1000)


def _since_boot() -> float:
    """Seconds that never jump, with those of suspend where the system counts them."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)
