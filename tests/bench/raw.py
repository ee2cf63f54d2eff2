"""What SQLite itself can do: the same work with nothing around it, as the measure for the engine.

`raw0`: three synced transactions a turn on a bare table. `raw1`: the same in groups of 64.
`raw3`: in groups of 64 on the deck's own schema, with its indexes and its guard.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, Turn, TurnState
from batchdeck.core.store import changes as sql
from batchdeck.core.store.connection import create_file
from batchdeck.core.store.migrate import migrate
from batchdeck.core.store.rows import turn_values

GROUP = 64
AGENTS = 50


@dataclass(frozen=True, slots=True)
class Figure:
    """Turns a second, and processor time a turn."""

    rate: float
    cpu_us: float


def measured(turns: int, work: Callable[[], None]) -> Figure:
    """Runs `work`, which does `turns` turns."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Figure(turns / wall, cpu / turns * 1e6)


def _connect(path: Path, synchronous: str) -> sqlite3.Connection:
    create_file(path)
    raw = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA wal_autocheckpoint = 2000")
    raw.execute(f"PRAGMA synchronous = {synchronous}")
    return raw


_BARE = """
CREATE TABLE turn (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, agent TEXT, text TEXT);
CREATE INDEX queued ON turn(id) WHERE state = 0;
"""


def raw0(path: Path, turns: int, synchronous: str) -> Figure:
    raw = _connect(path, synchronous)
    raw.executescript(_BARE)

    def work() -> None:
        for number in range(turns):
            row = (number, f"a{number % AGENTS}", "x" * 100)
            raw.execute("INSERT INTO turn (id, state, agent, text) VALUES (?, 0, ?, ?)", row)
            raw.execute("UPDATE turn SET state = 1 WHERE id = ? AND state = 0", (number,))
            raw.execute("UPDATE turn SET state = 2 WHERE id = ? AND state = 1", (number,))

    figure = measured(turns, work)
    raw.close()
    return figure


def raw1(path: Path, turns: int, synchronous: str) -> Figure:
    raw = _connect(path, synchronous)
    raw.executescript(_BARE)

    def work() -> None:
        for first in range(0, turns + 2 * GROUP, GROUP):
            raw.execute("BEGIN IMMEDIATE")
            new = range(first, min(first + GROUP, turns))
            rows = [(n, f"a{n % AGENTS}", "x" * 100) for n in new]
            raw.executemany("INSERT INTO turn (id, state, agent, text) VALUES (?, 0, ?, ?)", rows)
            for step, state in ((1, 1), (2, 2)):
                ids = range(max(0, first - step * GROUP), min(first - (step - 1) * GROUP, turns))
                raw.executemany(
                    "UPDATE turn SET state = ? WHERE id = ?", [(state, number) for number in ids]
                )
            raw.execute("COMMIT")

    figure = measured(turns, work)
    raw.close()
    return figure


def raw3(
    path: Path, turns: int, synchronous: str, *, without_gates: tuple[str, ...] = ()
) -> Figure:
    """`without_gates`: parts of the guard to leave out, to see what each costs."""
    raw = _connect(path, synchronous)
    migrate(raw)
    _prepare(raw, turns)
    if without_gates:
        _thin_guard(raw, without_gates)
    figure = measured(turns, lambda: _on_the_schema(raw, turns))
    ended = raw.execute("SELECT count(*) FROM turns WHERE state = 4").fetchone()[0]
    assert ended == turns, f"{ended} of {turns} turns ended"
    raw.close()
    return figure


def _prepare(raw: sqlite3.Connection, turns: int) -> None:
    raw.execute("BEGIN")
    raw.execute("INSERT INTO limits (name, value, binding) VALUES (?, 500, 500)", (GLOBAL,))
    names = [(f"agent:a{n}",) for n in range(AGENTS)]
    raw.executemany("INSERT INTO limits (name, value, binding) VALUES (?, 100, 100)", names)
    raw.execute("INSERT INTO limits (name, value, binding) VALUES ('batch:b', 500, 500)")
    raw.execute("INSERT INTO limits (name, value, binding) VALUES ('status:b/READY', 500, 500)")
    raw.executemany(
        "INSERT INTO conversations (id, agent, created_ms) VALUES (?, 'a', 0)",
        [(number,) for number in range(1, turns + 1)],
    )
    raw.execute("COMMIT")


def _thin_guard(raw: sqlite3.Connection, without: tuple[str, ...]) -> None:
    text = raw.execute("SELECT sql FROM sqlite_master WHERE name = 'guard'").fetchone()[0]
    head, _, conditions = text.partition("WHERE\n")
    body, _, _tail = conditions.rpartition(";\nEND")
    parts = [part for part in _split_conditions(body) if not any(w in part for w in without)]
    raw.execute("DROP TRIGGER guard")
    if not parts:
        return
    raw.execute(f"{head}WHERE\n{' OR '.join(parts)};\nEND")


def _split_conditions(body: str) -> list[str]:
    """The guard's conditions: what `OR` separates outside of brackets."""
    parts, depth, current = [], 0, ""
    for word in body.replace("(", " ( ").replace(")", " ) ").split():
        depth += (word == "(") - (word == ")")
        if word == "OR" and depth == 0:
            parts.append(current)
            current = ""
            continue
        current += f" {word}"
    return [*parts, current]


def _turn(number: int, state: TurnState = TurnState.QUEUED) -> Turn:
    return Turn(
        id=number,
        agent=f"a{number % AGENTS}",
        conversation=number,
        trigger=Trigger.CHAT,
        position=number,
        state=state,
        batch="b",
        lane=Status.READY,
        queued_ms=1,
        title="x" * 60,
    )


def _on_the_schema(raw: sqlite3.Connection, turns: int) -> None:
    for first in range(1, turns + 1 + 2 * GROUP, GROUP):
        raw.execute("BEGIN IMMEDIATE")
        ended = range(max(1, first - 2 * GROUP), min(first - GROUP, turns + 1))
        raw.executemany(sql.UPDATE_TURN, [_ending(number) for number in ended])
        new = range(first, min(first + GROUP, turns + 1))
        raw.executemany(sql.INSERT_TURN, [turn_values(_turn(number), None) for number in new])
        claimed = range(max(1, first - GROUP), min(first, turns + 1))
        claims = [(number, f"{number:032x}", 1, "READY", "", None, 2) for number in claimed]
        if claims:
            raw.execute(sql.CLAIM, (json.dumps(claims),)).fetchall()
        raw.execute("COMMIT")


def _ending(number: int) -> tuple[object, ...]:
    head = (4, 0, number, None, "READY", 0, None, 1, "", None, f"{number:032x}", 1, 2, 3, 0)
    return (*head, None, None, "x" * 60, f"a{number % AGENTS}", "b", None, number, 1)
