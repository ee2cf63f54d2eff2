"""A finished batch's results, in batch order."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
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


def collected(raw: sqlite3.Connection, batch: str) -> dict[str, Any] | None:
    """For `on_error: collect`, one record per failed task, in batch order, under `collect_to`."""
    row = raw.execute(
        "SELECT collect_to FROM batches WHERE name = ? AND on_error = 'collect'", (batch,)
    ).fetchone()
    if row is None or row["collect_to"] is None:
        return None
    failed = raw.execute(
        "SELECT position, key, error, turn, (SELECT state_word FROM turns_in_words AS turn "
        "WHERE turn.id = tasks.turn) AS kind FROM tasks "
        "WHERE batch = ? AND status = 'FAILED' ORDER BY position, id",
        (batch,),
    )
    records = [
        {
            "index": row["position"],
            "task": row["key"],
            "turn": None if row["turn"] is None else str(row["turn"]),
            "kind": row["kind"] or "dependency",
            "message": row["error"],
        }
        for row in failed
    ]
    return {row["collect_to"]: records}


def _finished(raw: sqlite3.Connection, event: Event, batch: str) -> Event:
    fields = {**event.fields, "results": batch_results(raw, batch)}
    values = collected(raw, batch)
    if values is not None:
        fields["values"] = values
    return event._replace(fields=fields)


def with_results(raw: sqlite3.Connection, events: Sequence[Event]) -> list[Event]:
    """The events, with each `batch.finished` carrying its results."""
    return [
        _finished(raw, event, event.batch)
        if event.kind == "batch.finished" and event.batch is not None
        else event
        for event in events
    ]
