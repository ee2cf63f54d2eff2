"""What the deck's file says, asked of the file itself."""

from __future__ import annotations

import sqlite3


def live_on_disk(raw: sqlite3.Connection) -> frozenset[int]:
    """The turns that the file says are running."""
    return frozenset(row[0] for row in raw.execute("SELECT id FROM turns WHERE state IN (1, 2)"))


def data_version(raw: sqlite3.Connection) -> int:
    """A number that changes when another connection writes (sqlite.org/pragma.html)."""
    return int(raw.execute("PRAGMA data_version").fetchone()[0])
