"""Cells: the smallest thing a table shows, a text with the tone it is said in."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Tone(StrEnum):
    """How a text is painted; a tone only ever repeats what the words say."""

    PLAIN = ""
    RUNNING = "running"
    QUEUED = "queued"
    NEEDS = "needs"
    HELD = "held"
    DONE = "done"
    FAILED = "failed"
    ALERT = "alert"
    MUTED = "muted"


class Cell(NamedTuple):
    text: str
    tone: Tone = Tone.PLAIN


Row = tuple[Cell, ...]
