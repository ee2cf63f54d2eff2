"""Attempts on disk that the deck's file does not know: shown, and not silently made again.

That is what a loss of power can leave, or a file that was put back from a copy. A claim is on disk
before its attempt's folder is made, so such a folder says that the file is older than it should be.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from batchdeck.core.deck.state import DeckState
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import Alive, Never
from batchdeck.core.executors.records import evidence
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.turn import TurnState

BY = "batchdeck (see the banner)"
_ATTEMPT = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class UnknownAttempt:
    """One attempt that was begun, and of which no row tells."""

    attempt: str
    turn: int | None
    task: str | None
    alive: bool

    @property
    def words(self) -> str:
        what = f" (task {self.task})" if self.task else ""
        return f"runs/{self.attempt[:8]}…{what}{', still running' if self.alive else ''}"


def unknown_attempts(raw: sqlite3.Connection, runs: Path) -> list[UnknownAttempt]:
    """Attempts with a folder, and no row, that were begun; at most a few milliseconds for many."""
    on_disk = {entry.name for entry in runs.iterdir() if _ATTEMPT.fullmatch(entry.name)}
    if not on_disk:
        return []
    known = {row[0] for row in raw.execute("SELECT id FROM attempts")}
    found = [_look(runs / name) for name in sorted(on_disk - known)]
    return [attempt for attempt in found if attempt is not None]


def _look(run: Path) -> UnknownAttempt | None:
    proof = evidence(run)
    if isinstance(proof, Never):
        return None
    environment = _environment(run)
    turn = environment.get("BATCHDECK_TURN", "")
    return UnknownAttempt(
        attempt=run.name,
        turn=int(turn) if turn.isdigit() else None,
        task=environment.get("BATCHDECK_TASK"),
        alive=isinstance(proof, Alive),
    )


def _environment(run: Path) -> dict[str, str]:
    try:
        found = attempt_files.read_json(str(run / attempt_files.SPEC)).get("env")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def hold_their_turns(
    raw: sqlite3.Connection, state: DeckState, found: Sequence[UnknownAttempt]
) -> str | None:
    """Holds the queued turns that such attempts were about; words for the banner."""
    if not found:
        return None
    held = []
    for attempt in found:
        turn = state.turns.get(attempt.turn or 0)
        if turn is not None and turn.state is TurnState.QUEUED and turn.held_by is None:
            raw.execute("UPDATE turns SET held_by = ? WHERE id = ? AND state = 0", (BY, turn.id))
            state.put_turn(evolve(turn, held_by=BY))
            held.append(f"#{turn.id}")
    named = ", ".join(attempt.words for attempt in found[:3])
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    words = f"On disk are attempts that this deck does not know: {named}{more}."
    return f"{words} {', '.join(held)} held: look before you release." if held else words
