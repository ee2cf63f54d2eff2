"""A finished batch's results and failures, in batch order."""

from __future__ import annotations

import json
import sqlite3
from typing import Any


def batch_results(raw: sqlite3.Connection, batch: str) -> list[dict[str, Any]]:
    """One entry per task or item, in batch order, with `task` or `index`."""
    found = raw.execute(
        "SELECT key, item_index, status, error, (SELECT text FROM messages "
        "WHERE messages.turn = tasks.turn AND role = 'agent' ORDER BY id DESC LIMIT 1) AS output "
        "FROM tasks WHERE batch = ? AND NOT barrier ORDER BY position, id",
        (batch,),
    )
    return [
        {
            **({"task": row["key"]} if row["item_index"] is None else {"index": row["item_index"]}),
            "status": row["status"],
            "output": row["output"],
            "error": row["error"],
        }
        for row in found
    ]


def collected(
    raw: sqlite3.Connection, batch: str, steps: tuple[str, ...] = ()
) -> tuple[str, list[dict[str, Any]]] | None:
    """For `on_error: collect`, where to, and one record per task or item that failed, in order.

    `steps`: the ids of the foreach's steps.
    """
    row = raw.execute(
        "SELECT collect_to FROM batches WHERE name = ? AND on_error = 'collect'", (batch,)
    ).fetchone()
    if row is None or row["collect_to"] is None:
        return None
    failed = raw.execute(
        "SELECT position, key, error, turn, item_index, item, step, "
        "(SELECT state_word FROM turns_in_words AS turn WHERE turn.id = tasks.turn) AS kind "
        "FROM tasks WHERE batch = ? AND status = 'FAILED' AND NOT barrier ORDER BY position, id",
        (batch,),
    )
    return row["collect_to"], [_record(row, steps) for row in failed]


def _record(row: sqlite3.Row, steps: tuple[str, ...]) -> dict[str, Any]:
    record = {
        "index": row["position"],
        "task": row["key"],
        "turn": None if row["turn"] is None else str(row["turn"]),
        "kind": row["kind"] or "dependency",
        "message": row["error"],
    }
    if row["item_index"] is None:
        return record
    record["index"] = row["item_index"]
    record["item"] = None if row["item"] is None else json.loads(row["item"])
    record["step"] = steps[row["step"]] if row["step"] < len(steps) else str(row["step"])
    return record
