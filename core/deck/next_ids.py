"""The next free ids, so that rows can be named before they are written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class NextIds:
    """The next free id of each kind; ids come from here, so that rows can be named before they
    are written."""

    turn: int = 1
    task: int = 1
    conversation: int = 1
    message: int = 1
    batch: int = 1
    folder: int = 1
    ask: int = 1
    blocker: int = 1
    event: int = 1
