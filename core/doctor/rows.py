"""A deck's rows and processes, against the invariants that they must keep."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from batchdeck.core.clock import SystemClock
from batchdeck.core.deck.audit import violations
from batchdeck.core.deck.barrier import Senseless, check_stored
from batchdeck.core.deck.restoring import scheduler_for, state_from
from batchdeck.core.deck.state import KEPT_ENDED, DeckState
from batchdeck.core.deck.unknown import unknown_attempts
from batchdeck.core.doctor.finding import Finding, fine, problem, remark
from batchdeck.core.executors.executor import Alive, Died, Ended
from batchdeck.core.executors.processes import marks
from batchdeck.core.executors.records import evidence
from batchdeck.core.paths import DeckPaths
from batchdeck.core.store.load import load
from batchdeck.core.text import counted

MUCH_ROOM_BYTES = 10_000_000
_OVER = """
SELECT limits.name, limits.binding, count(*) AS running FROM limits JOIN turns
ON turns.state BETWEEN 1 AND 2 AND turns.forced = '' AND (
    limits.name = 'global' OR limits.name = 'agent:' || turns.agent
    OR limits.name = 'batch:' || turns.batch
    OR limits.name = 'status:' || turns.batch || '/' || turns.lane)
GROUP BY limits.name HAVING running > limits.binding
"""


def look_at_file(raw: sqlite3.Connection) -> Iterator[Finding]:
    """SQLite's own checks."""
    answers = [row[0] for row in raw.execute("PRAGMA integrity_check(5)")]
    if answers != ["ok"]:
        for answer in answers:
            yield problem("database", f"is damaged: {answer}")
        return
    dangling = raw.execute("PRAGMA foreign_key_check").fetchall()
    if dangling:
        yield problem("database", f"{len(dangling)} rows refer to rows that are not there")
        return
    yield fine("database", "is sound")


def look_at_room(raw: sqlite3.Connection) -> Finding | None:
    """How much of the file rows that have gone have left free, where that is much."""
    page = int(raw.execute("PRAGMA page_size").fetchone()[0])
    free = page * int(raw.execute("PRAGMA freelist_count").fetchone()[0])
    if free < MUCH_ROOM_BYTES:
        return None
    return remark("database", f"{free / 1e6:.0f} MB of its file are free, for new rows")


def look_at_rows(
    raw: sqlite3.Connection, paths: DeckPaths, *, supervised: bool
) -> tuple[list[Finding], DeckState]:
    """The invariants, from the rows alone; and the state that they make."""
    stored = load(raw, KEPT_ENDED)
    found = [problem("rows", f"{words} cannot be read") for words in stored.set_aside]
    state = state_from(stored, str(paths.root))
    scheduler = scheduler_for(state, SystemClock().now_ms())
    live = frozenset(state.live)
    broken = violations(state, scheduler, on_disk=live, in_hand=live)
    found += [problem("rows", violation.words) for violation in broken]
    for row in raw.execute(_OVER):
        words = f"{row['name']}: {row['running']} run, and {row['binding']} may (it was lowered)"
        found.append(remark("rows", words))
    found += _foreaches(raw, state)
    if not supervised:
        found += _left_running(state, paths)
    if not any(one.check == "rows" for one in found):
        found.append(fine("rows", f"{counted(len(state.tasks), 'task')}, every invariant holds"))
    return found, state


def _foreaches(raw: sqlite3.Connection, state: DeckState) -> Iterator[Finding]:
    """What is stored of a foreach must fit together; nothing of one that does not is touched."""
    for batch in state.batches.values():
        try:
            check_stored(raw, batch)
        except Senseless as error:
            yield problem("rows", f"the foreach of {batch.name} makes no sense: {error}")


def _left_running(state: DeckState, paths: DeckPaths) -> Iterator[Finding]:
    """What the next supervisor will find, in its own words."""
    for turn in (state.turns[turn] for turn in state.live):
        run = paths.run(turn.attempt or "-")
        proof = evidence(run) if run.is_dir() else None
        if isinstance(proof, Alive):
            words = "still runs, and is taken over by the next supervisor"
        elif isinstance(proof, Ended):
            words = "has ended, and is settled by the next supervisor"
        elif isinstance(proof, Died):
            words = "was lost; the next supervisor asks about it"
        else:
            words = "was never started, and is queued again by the next supervisor"
        yield remark("turns", f"#{turn.id} {words}")


def look_at_attempts(raw: sqlite3.Connection, paths: DeckPaths) -> Iterator[Finding]:
    """Attempts on disk that have no row."""
    unknown = unknown_attempts(raw, paths.runs) if paths.runs.is_dir() else []
    for attempt in unknown:
        yield problem("attempts", f"{attempt.words} is on disk and not in the database")


def strays(raw: sqlite3.Connection, paths: DeckPaths) -> dict[str, int]:
    """Processes of attempts that have ended, by attempt: none may be left."""
    found = {}
    for attempt, count in marks().items():
        run = paths.run(attempt)
        if not run.is_dir() or isinstance(evidence(run), Alive):
            continue
        row = raw.execute("SELECT ended_ms FROM attempts WHERE id = ?", (attempt,)).fetchone()
        if row is None or row["ended_ms"] is not None:
            found[attempt] = count
    return found
