"""One task's result with what it took, read for every form of export."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from typing import Any

from batchdeck.core.model.event import Event
from batchdeck.core.text import clean_text


@dataclass(frozen=True, slots=True)
class Record:
    """A task of a batch: its latest turn, and what all its turns took.

    Numbers nobody knows are None.
    """

    batch: str
    task: str
    title: str
    status: str
    agent: str
    turn: str | None
    state: str | None
    attempts: int
    queued_ms: int | None
    started_ms: int | None
    ended_ms: int | None
    seconds: float | None
    """For which its agents worked, as tokens and cost: all turns and attempts of it."""
    exit_code: int | None
    error: str | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    output: str | None
    index: int | None = None
    """Of an item of a foreach: its place, from 0."""
    item: str | None = None
    """Its value, as JSON."""
    history: tuple[dict[str, Any], ...] = ()
    """All its attempts, those of earlier turns and of messages to it included."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


COLUMNS = tuple(field.name for field in fields(Record) if field.name != "history")
"""What fits into one row of a table."""

_QUERY = """
SELECT tasks.id, tasks.batch, tasks.key, tasks.title, tasks.status, tasks.agent, tasks.turn,
    turn.state_word, turn.attempts, turn.queued_ms, turn.started_ms, turn.ended_ms,
    turn.exit_code, tasks.error,
    (SELECT text FROM messages WHERE messages.turn = tasks.turn AND role = 'agent'
        ORDER BY messages.id DESC LIMIT 1) AS output,
    tasks.item_index, tasks.item
FROM tasks JOIN batches ON batches.name = tasks.batch
LEFT JOIN turns_in_words AS turn ON turn.id = tasks.turn
WHERE NOT tasks.barrier AND (?1 IS NULL OR tasks.batch = ?1)
ORDER BY batches.id, tasks.position, tasks.id
"""


_ATTEMPTS = """
SELECT tasks.id AS task_id, CAST(turns.id AS TEXT) AS turn, turns.trigger, turns.agent,
    attempts.number AS attempt, attempts.started_ms, attempts.ended_ms, attempts."end",
    attempts.exit_code, attempts.error, attempts.tokens_in, attempts.tokens_out, attempts.cost
FROM attempts JOIN turns ON turns.id = attempts.turn JOIN tasks ON tasks.id = turns.task
JOIN batches ON batches.name = tasks.batch
WHERE NOT tasks.barrier AND (?1 IS NULL OR tasks.batch = ?1)
ORDER BY batches.id, tasks.position, tasks.id, attempts.claimed_ms, turns.id, attempts.number
"""


def _attempts(
    raw: sqlite3.Connection, batch: str | None
) -> Iterator[tuple[int, tuple[dict[str, Any], ...]]]:
    """The attempts of each task that has any, in the order of `records`."""
    found = (dict(row) for row in raw.execute(_ATTEMPTS, (batch,)))
    for task, rows in groupby(found, key=lambda row: row.pop("task_id")):
        yield int(task), tuple(rows)


def _sum(attempts: Iterable[dict[str, Any]], what: str) -> Any:
    """Of those that are known."""
    known = [attempt[what] for attempt in attempts if attempt[what] is not None]
    return sum(known) if known else None


def _seconds(attempts: Iterable[dict[str, Any]]) -> float | None:
    took = [
        attempt["ended_ms"] - attempt["started_ms"]
        for attempt in attempts
        if attempt["started_ms"] is not None and attempt["ended_ms"] is not None
    ]
    return sum(took) / 1000 if took else None


def records(raw: sqlite3.Connection, batch: str | None = None) -> Iterator[Record]:
    """Every task's result, batch by batch, in batch order; of one batch where one is named."""
    attempts = _attempts(raw, batch)
    with_attempts, history = next(attempts, (None, ()))
    for row in raw.execute(_QUERY, (batch,)):
        own: tuple[dict[str, Any], ...] = ()
        if row["id"] == with_attempts:
            own = history
            with_attempts, history = next(attempts, (None, ()))
        yield Record(
            batch=row["batch"],
            task=row["key"],
            title=row["title"],
            status=row["status"],
            agent=row["agent"],
            turn=None if row["turn"] is None else str(row["turn"]),
            state=row["state_word"],
            attempts=row["attempts"] or 0,
            queued_ms=row["queued_ms"],
            started_ms=row["started_ms"],
            ended_ms=row["ended_ms"],
            seconds=_seconds(own),
            exit_code=row["exit_code"],
            error=row["error"],
            tokens_in=_sum(own, "tokens_in"),
            tokens_out=_sum(own, "tokens_out"),
            cost=_sum(own, "cost"),
            output=None if row["output"] is None else clean_text(row["output"]),
            index=row["item_index"],
            item=row["item"],
            history=own,
        )


@dataclass(frozen=True, slots=True)
class History:
    """What a report draws over time: when each turn ran, and the deck's limit."""

    runs: tuple[tuple[int, int, str], ...]
    """Start and end in UTC ms, and the agent."""
    limits: tuple[tuple[int, int], ...]
    """When the deck's limit became what."""


def history(raw: sqlite3.Connection, events: Iterator[Event]) -> History:
    """Every run that has ended, and every change of the deck's limit."""
    found = raw.execute(
        "SELECT started_ms, ended_ms, agent FROM turns "
        "WHERE started_ms IS NOT NULL AND ended_ms IS NOT NULL ORDER BY started_ms"
    )
    limits = tuple(
        (event.at_ms, int(event.fields["after"]))
        for event in events
        if event.kind == "limit.changed"
        and event.fields.get("name") == "global"
        and event.fields.get("after") is not None
    )
    return History(tuple((row[0], row[1], row[2]) for row in found), limits)
