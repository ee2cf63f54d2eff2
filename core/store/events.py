"""Events as they are stored: one row per transaction, so that noting one costs almost nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from batchdeck.core.model.event import Event

Noted = tuple[int, int, str, int | None, str | None, str | None, str | None, str | None, Any]
"""`(seq, at_ms, kind, turn, task, batch, agent, by, fields)`"""


def event_from(noted: Sequence[Any]) -> Event:
    """An event from what was noted of it."""
    return Event._make(noted)


def events_row(noted: Sequence[Noted]) -> tuple[int, int, int, str]:
    """The row of one transaction's events: `last_seq`, `first_seq`, `at_ms`, `body`."""
    return (noted[-1][0], noted[0][0], noted[-1][1], json.dumps(noted))


def read_events(raw: sqlite3.Connection, after: int, limit: int) -> list[Event]:
    """Events with a `seq` above `after`, oldest first; a negative `after`: the latest ones."""
    found = list(_latest(raw, limit) if after < 0 else _following(raw, after, limit))
    return [event_from(noted) for noted in found]


def _following(raw: sqlite3.Connection, after: int, limit: int) -> Iterator[Noted]:
    rows = raw.execute("SELECT body FROM events WHERE last_seq > ? ORDER BY last_seq", (after,))
    for row in rows:
        for noted in json.loads(row[0]):
            if noted[0] > after:
                yield noted
                limit -= 1
            if limit <= 0:
                return


def _latest(raw: sqlite3.Connection, limit: int) -> list[Noted]:
    newest: list[Noted] = []
    for row in raw.execute("SELECT body FROM events ORDER BY last_seq DESC"):
        newest = json.loads(row[0]) + newest
        if len(newest) >= limit:
            break
    return newest[-limit:]
