"""Named points at which a test may have the process killed; nothing at all unless one is armed."""

from __future__ import annotations

import os
import signal
from typing import Literal, get_args

VARIABLE = "BATCHDECK_CRASH_AT"
"""`point:n`: the process kills itself when it reaches that point for the n-th time."""

Point = Literal[
    "migrate",
    "import",
    "part",
    "commit.before",
    "commit.after",
    "claimed",
    "folder.before",
    "folder.after",
    "spawn.before",
    "spawn.after",
    "started",
    "tick",
    "finish.before",
    "finish.after",
    "barrier.before",
    "barrier.judged",
    "barrier.after",
    "recover",
    "fenced",
    "found",
    "followed",
]
ON_FINDING: tuple[Point, ...] = ("found", "followed")
"""Reached only where something was completed elsewhere."""
OF_A_BARRIER: tuple[Point, ...] = ("barrier.before", "barrier.judged", "barrier.after")
"""Reached only by a batch with a foreach."""
OF_A_LARGE_BATCH: tuple[Point, ...] = ("part",)
"""Reached only by one that is added in parts."""
POINTS: tuple[Point, ...] = tuple(
    one for one in get_args(Point) if one not in (*ON_FINDING, *OF_A_BARRIER, *OF_A_LARGE_BATCH)
)
"""Those that every batch comes by."""


def _read(text: str | None) -> tuple[str, int] | None:
    name, _, count = (text or "").rpartition(":")
    return (name, int(count)) if name in get_args(Point) and count.isdigit() else None


_armed = _read(os.environ.get(VARIABLE))
_left = _armed[1] if _armed else 0


def reached(point: Point) -> None:
    """Ends the process without any warning, where that was asked for."""
    if _armed is None or _armed[0] != point:
        return
    global _left
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
