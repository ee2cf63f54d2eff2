"""What items of a foreach wrote, as it is stored."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """One write of one step of one item."""

    task: int
    index: int
    step: int
    path: str
    reducer: str | None
    value: str
    """JSON."""


def read_written(raw: sqlite3.Connection, batch: str) -> list[Written]:
    """What the items of a batch that are done wrote, in item order."""
    found = raw.cursor()
    found.row_factory = None
    found.execute(
        "SELECT task, item_index, item_values.step, name, reducer, value FROM tasks "
        "JOIN item_values ON item_values.task = tasks.id "
        "WHERE batch = ? AND item_index IS NOT NULL AND kind = 'write' "
        "AND status IN ('DONE', 'MERGED') ORDER BY item_index, item_values.step",
        (batch,),
    )
    return [Written(*row) for row in found]
