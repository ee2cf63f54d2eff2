"""Which columns of a table are shown at a width, and how wide each one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

GAP = 2
"""Blank cells between two columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; where it gets narrow, the highest `drop` goes first, and 0 never goes."""

    label: str
    width: int
    drop: int = 0
    right: bool = False
    most: int | None = None
    """It takes what is left up to so much; `width` is then the least it needs."""


ANY_WIDTH = 1_000


class Placed(NamedTuple):
    """A column that is shown: which one, and its width."""

    number: int
    width: int


def place_columns(columns: Sequence[Column], room: int) -> tuple[Placed, ...]:
    """The columns that fit into `room` cells, in their order."""
    kept = list(range(len(columns)))
    while _needed(columns, kept) > room and any(columns[index].drop for index in kept):
        kept.remove(max(kept, key=lambda index: columns[index].drop))
    spare = max(0, room - _needed(columns, kept))
    placed: list[Placed] = []
    for index in kept:
        column = columns[index]
        more = 0 if column.most is None else min(spare, column.most - column.width)
        spare -= more
        placed.append(Placed(index, column.width + more))
    return tuple(placed)


def _needed(columns: Sequence[Column], kept: Sequence[int]) -> int:
    return sum(columns[index].width for index in kept) + GAP * (len(kept) - 1)


COLUMNS = (
    ("lane", "The status a task had when its turn was admitted; limits on statuses count it."),
    ("running", "Slots taken, of the limit; in the status table by lane, not by status."),
    ("queued", "Turns that wait in that lane, or for that agent."),
    ("now", "Tasks that have the status at this moment: what runs is IN_PROGRESS."),
)
"""What the numbers of the tables mean, for whoever asks."""
