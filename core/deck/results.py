"""What a finished batch came to: its results, the values that its barrier committed."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from batchdeck.core.deck.barrier import Senseless, check_stored, patches_from
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.event import Event
from batchdeck.core.rules.barrier import Conflict, fold
from batchdeck.core.store.batch_rows import batch_from
from batchdeck.core.store.item_values import read_written
from batchdeck.core.store.results import batch_results, collected


def with_results(raw: sqlite3.Connection, events: Sequence[Event]) -> list[Event]:
    """The events, with each `batch.finished` carrying its results."""
    return [
        _finished(raw, event, event.batch)
        if event.kind == "batch.finished" and event.batch is not None
        else event
        for event in events
    ]


def _finished(raw: sqlite3.Connection, event: Event, batch: str) -> Event:
    fields = {**event.fields, "results": batch_results(raw, batch)}
    values = values_of(raw, batch)
    if values is not None:
        fields["values"] = values
    return event._replace(fields=fields)


def values_of(raw: sqlite3.Connection, name: str) -> dict[str, Any] | None:
    """A batch's values: what its barrier committed, and what `on_error: collect` collected.

    None for a batch that has neither.
    """
    row = raw.execute("SELECT * FROM batches WHERE name = ?", (name,)).fetchone()
    batch = None if row is None else batch_from(row)
    if batch is None:
        return None
    steps = () if batch.foreach is None else tuple(step.id for step in batch.foreach.steps)
    values = committed_values(raw, batch) if batch.foreach is not None else {}
    records = collected(raw, name, steps)
    if records is None:
        return values if batch.foreach is not None else None
    path, failures = records
    return {**values, **_nested(values, path, failures)}


def _nested(values: dict[str, Any], path: str, found: Any) -> dict[str, Any]:
    root, dot, rest = path.partition(".")
    if not dot:
        return {root: found}
    below = values.get(root)
    inner = below if isinstance(below, dict) else {}
    return {root: {**inner, **_nested(inner, rest, found)}}


def committed_values(raw: sqlite3.Connection, batch: Batch) -> dict[str, Any]:
    """What a barrier committed; empty where nothing was, or where what is stored makes no sense."""
    if batch.committed is None or batch.foreach is None:
        return {}
    try:
        check_stored(raw, batch)
        return fold(patches_from(read_written(raw, batch.name), batch.foreach))
    except (Senseless, Conflict):
        return {}
