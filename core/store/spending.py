"""What turns and tasks have used, added up from their attempts when somebody asks."""

from __future__ import annotations

import sqlite3

from batchdeck.core.model.budget import Spent, TurnSpent

_SUMS = (
    "sum(coalesce(tokens_in + tokens_out, 0)), sum(coalesce(cost, 0)), "
    "sum(tokens_in IS NULL OR tokens_out IS NULL), sum(cost IS NULL), count(*)"
)
_ATTEMPTS = "FROM attempts JOIN turns ON turns.id = attempts.turn"
_ENDED = "attempts.ended_ms IS NOT NULL AND attempts.started_ms IS NOT NULL"
"""An attempt whose agent never began has used nothing."""


def spent_by_turns_and_tasks(raw: sqlite3.Connection) -> dict[str, Spent]:
    """By `turn:ID` and `task:ID`, for those of which an attempt has ended."""
    found: dict[str, Spent] = {}
    for kind, column in (("turn", "turns.id"), ("task", "turns.task")):
        query = (
            f"SELECT {column}, {_SUMS} {_ATTEMPTS} WHERE {_ENDED} AND {column} IS NOT NULL "
            f"GROUP BY {column}"
        )
        for row in raw.execute(query):
            found[f"{kind}:{row[0]}"] = Spent(*tuple(row)[1:])
    return found


def spent_by_turn(raw: sqlite3.Connection, turn: int) -> TurnSpent:
    """What one turn has used, and all turns of its task."""
    own = _sum(raw, "turns.id = ?", turn)
    found = raw.execute("SELECT task FROM turns WHERE id = ?", (turn,)).fetchone()
    task = None if found is None else found[0]
    return TurnSpent(own, None if task is None else _sum(raw, "turns.task = ?", task))


def _sum(raw: sqlite3.Connection, which: str, row_id: int) -> Spent:
    query = f"SELECT {_SUMS} {_ATTEMPTS} WHERE {_ENDED} AND {which}"
    return Spent(*(value or 0 for value in raw.execute(query, (row_id,)).fetchone()))
