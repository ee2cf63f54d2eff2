"""Rows of batches: the batch, the plan of its foreach, and what its barrier committed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

from batchdeck.core.model.batch import Batch, BatchState, Commit, Interrupt, OnError
from batchdeck.core.model.foreach import Foreach, foreach_from
from batchdeck.core.text import one_line

BATCH_COLUMNS = (
    "id name state on_error collect_to interrupt max_attempts reconcile_seconds base file prepare "
    "created_ms ended_ms stopped_admitting adding"
).split()


def batch_values(batch: Batch) -> tuple[Any, ...]:
    """In the order of `BATCH_COLUMNS`."""
    return (
        batch.id,
        batch.name,
        batch.state,
        batch.on_error,
        batch.collect_to,
        batch.interrupt,
        batch.max_attempts,
        batch.reconciliation_interval_seconds,
        batch.base,
        batch.file,
        json.dumps(batch.prepare),
        batch.created_ms,
        batch.ended_ms,
        int(batch.stopped_admitting),
        batch.adding,
    )


def batch_from(row: sqlite3.Row) -> Batch:
    broken: list[str] = []
    foreach = _stored(broken, "its steps", row["foreach"], _foreach_from)
    committed = _stored(broken, "its barrier", row["committed"], _commit_from)
    if committed is not None and foreach is None and not broken:
        broken.append("its barrier is committed, and it has no foreach")
    return Batch(
        id=row["id"],
        name=row["name"],
        state=BatchState(row["state"]),
        on_error=OnError(row["on_error"]),
        collect_to=row["collect_to"],
        interrupt=Interrupt(row["interrupt"]),
        max_attempts=row["max_attempts"],
        reconciliation_interval_seconds=row["reconcile_seconds"],
        base=row["base"],
        file=row["file"],
        prepare=tuple(tuple(step) for step in json.loads(row["prepare"])),
        created_ms=row["created_ms"],
        ended_ms=row["ended_ms"],
        stopped_admitting=bool(row["stopped_admitting"]),
        foreach=foreach,
        committed=committed,
        adding=row["adding"],
        broken="; ".join(broken) or None,
    )


_Read = TypeVar("_Read")


def _stored(
    broken: list[str], what: str, text: str | None, read: Callable[[Any], _Read]
) -> _Read | None:
    """What a column of JSON holds; what cannot be read is named, and nothing is made of it."""
    if text is None:
        return None
    try:
        return read(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        broken.append(f"{what} cannot be read ({type(error).__name__}: {one_line(str(error), 80)})")
        return None


def _foreach_from(document: Any) -> Foreach:
    found = foreach_from(document)
    if not found.steps:
        raise ValueError("it has no steps")
    return found


def _commit_from(document: Any) -> Commit:
    items, patches, digest = document["items"], document["patches"], document["digest"]
    if not all(type(number) is int and number >= 0 for number in (items, patches)):
        raise ValueError("its counts are none")
    if not isinstance(digest, str):
        raise ValueError("its digest is none")
    return Commit(items, patches, digest)


def commit_document(commit: Commit) -> str:
    """What a barrier committed, as its column holds it."""
    return json.dumps(asdict(commit))
