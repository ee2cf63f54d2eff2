"""A finished batch's results, in batch order."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from batchdeck.core.model.event import Event


def batch_results(raw: sqlite3.Connection, batch: str) -> list[dict[str, Any]]:
    """One entry per task, in batch order: `task`, `status`, `output`, `error`."""
    found = raw.execute(
        "SELECT key, status, error, (SELECT text FROM messages WHERE messages.turn = tasks.turn "
        "AND role = 'agent' ORDER BY id DESC LIMIT 1) AS output "
        "FROM tasks WHERE batch = ? ORDER BY position, id",
        (batch,),
    )
    return [
        {
            "task": row["key"],
            "status": row["status"],
            "output": row["output"],
            "error": row["error"],
        }
        for row in found
    ]


def with_results(raw: sqlite3.Connection, events: Sequence[Event]) -> list[Event]:
    """The events, with each `batch.finished` carrying its results."""
    return [
        replace(event, fields={**event.fields, "results": batch_results(raw, event.batch)})
        if event.kind == "batch.finished" and event.batch is not None
        else event
        for event in events
    ]
