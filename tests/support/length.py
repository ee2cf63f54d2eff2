"""How long the tests go on that can go on for as long as one likes: shortly, or `--at-length`."""

from __future__ import annotations

import os
from typing import TypeVar

VARIABLE = "BATCHDECK_AT_LENGTH"
_Size = TypeVar("_Size", int, float)


def at_length() -> bool:
    """Whether the larger figures were asked for."""
    return os.environ.get(VARIABLE) == "1"


def so_many(shortly: _Size, long: _Size) -> _Size:
    """The size of a test for every change, or the one that is asked for now and then."""
    return long if at_length() else shortly
