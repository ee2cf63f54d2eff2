"""Batches of which a crash left a part: they are taken away, as if nobody had begun to add them."""

from __future__ import annotations

import json
import sqlite3

MOST_TASKS = 1_000
"""Tasks that one transaction takes away."""
_OF_TURNS = (
    "DELETE FROM receipts WHERE turn IN (SELECT id FROM gone_turns)",
    "DELETE FROM messages WHERE turn IN (SELECT id FROM gone_turns)",
    "DELETE FROM holds WHERE what IN (SELECT 'turn:' || id FROM gone_turns)",
    "DELETE FROM turns WHERE id IN (SELECT id FROM gone_turns)",
)
_OF_TASKS = (
    "DELETE FROM conversations WHERE task IN (SELECT value FROM json_each(:tasks))",
    "DELETE FROM dependencies WHERE task IN (SELECT value FROM json_each(:tasks))",
    "DELETE FROM blockers WHERE task IN (SELECT value FROM json_each(:tasks))",
    "DELETE FROM issue_moves WHERE task IN (SELECT value FROM json_each(:tasks))",
    "DELETE FROM tasks WHERE id IN (SELECT value FROM json_each(:tasks))",
)
_KEEP_IDS = (
    "INSERT OR REPLACE INTO facts (key, value) SELECT 'ids', json_object("
    "'turn', max(coalesce((SELECT max(id) FROM turns), 0), coalesce(value ->> 'turn', 0)), "
    "'task', max(coalesce((SELECT max(id) FROM tasks), 0), coalesce(value ->> 'task', 0)), "
    "'conversation', max(coalesce((SELECT max(id) FROM conversations), 0), "
    "coalesce(value ->> 'conversation', 0))) "
    "FROM (SELECT coalesce((SELECT value FROM facts WHERE key = 'ids'), '{}') AS value)"
)
"""Numbers that people have seen are not given again."""


def take_away_half_added(raw: sqlite3.Connection) -> list[str]:
    """Takes away what was added of batches that were not added to the end; returns their names.

    Killed in between, it goes on the next time: the mark of a batch goes last. Foreign keys are
    not looked up meanwhile: all that names what goes, goes with it.
    """
    found = raw.execute("SELECT id, name, adding FROM batches WHERE adding IS NOT NULL").fetchall()
    if not found:
        return []
    raw.execute("PRAGMA foreign_keys = OFF")
    try:
        raw.execute(_KEEP_IDS)
        for batch, name, first in found:
            while _take_away_some(raw, name, first):
                pass
            _take_away_mark(raw, batch, name)
    finally:
        raw.execute("PRAGMA foreign_keys = ON")
    return [name for _, name, _ in found]


def _take_away_some(raw: sqlite3.Connection, batch: str, first: int) -> bool:
    """The latest tasks from `first` on, with all that is theirs; whether there were any."""
    tasks = raw.execute(
        "SELECT id FROM tasks WHERE batch = ? AND id >= ? ORDER BY id DESC LIMIT ?",
        (batch, first, MOST_TASKS),
    ).fetchall()
    if not tasks:
        return False
    given = {"tasks": json.dumps([row[0] for row in tasks])}
    raw.execute("BEGIN IMMEDIATE")
    try:
        raw.execute(
            "CREATE TEMP TABLE gone_turns AS SELECT id FROM turns "
            "WHERE task IN (SELECT value FROM json_each(:tasks))",
            given,
        )
        for statement in _OF_TURNS:
            raw.execute(statement)
        for statement in _OF_TASKS:
            raw.execute(statement, given)
        raw.execute("DROP TABLE gone_turns")
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise
    return True


def _take_away_mark(raw: sqlite3.Connection, batch: int, name: str) -> None:
    """A batch that was there before is as it was; one of which nothing is left goes."""
    raw.execute("BEGIN IMMEDIATE")
    try:
        raw.execute(
            "DELETE FROM conversations WHERE batch = ? AND name IS NOT NULL "
            "AND id NOT IN (SELECT conversation FROM turns)",
            (name,),
        )
        raw.execute("UPDATE batches SET adding = NULL WHERE id = ?", (batch,))
        raw.execute(
            "DELETE FROM batches WHERE id = ? "
            "AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.batch = batches.name)",
            (batch,),
        )
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise
