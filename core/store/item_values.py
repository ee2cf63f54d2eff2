"""What items of a foreach wrote, as it is stored."""

from __future__ import annotations

import sqlite3
from operator import itemgetter
from typing import NamedTuple


class Written(NamedTuple):
    """One write of one step of one item; made by the ten thousand, so it is a tuple."""

    task: int
    item: int
    step: int
    path: str
    reducer: str | None
    value: str
    """JSON."""


def read_written(raw: sqlite3.Connection, batch: str) -> list[Written]:
    """What the items of a batch that are done wrote, in item order."""
    first, last = raw.execute(
        "SELECT min(id), max(id) FROM tasks WHERE batch = ?", (batch,)
    ).fetchone()
    found = raw.cursor()
    found.row_factory = None
    # along the values, which lie as the tasks do: the other way round each would be looked up
    found.execute(
        "SELECT task, item_index, item_values.step, name, reducer, value FROM item_values "
        "CROSS JOIN tasks ON tasks.id = task WHERE task BETWEEN ? AND ? AND kind = 'write' "
        "AND batch = ? AND item_index IS NOT NULL AND status IN ('DONE', 'MERGED')",
        (first, last, batch),
    )
    written = list(map(Written._make, found))
    written.sort(key=itemgetter(1))  # the steps of an item come in their order
    return written
