"""What the database refuses to start for good: that alone is held, and the rest goes on."""

from __future__ import annotations

from collections.abc import Collection

from batchdeck.core.deck.work import Work
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.hold import OURSELVES
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.store import changes as sql
from batchdeck.core.store.changes import Changes
from batchdeck.core.view import DeckView

WHY = (
    "the deck's file does not let it start, though nothing that can be read is in its way; "
    "batchdeck doctor looks closer"
)
BY = f"{OURSELVES} ({WHY})"


def agree(work: Work, turns: Collection[int]) -> None:
    """Gives the database the numbers in force, and holds turns that it does not let start."""
    bind_limits(work.changes, work.view)
    for number in turns:
        turn = work.state.turns.get(number)
        if turn is None or turn.state is not TurnState.QUEUED or turn.held_by is not None:
            continue
        held = evolve(turn, held_by=BY)
        work.put_turn(held)
        work.refresh(held.id)
        work.emit("hold", held, by=OURSELVES, what=f"turn:{turn.id}", reason=WHY)


def bind_limits(changes: Changes, view: DeckView) -> None:
    """Has the guard count up to what is in force now: a cap may be another than it was."""
    for name in view.limits:
        changes.add(sql.REBIND_LIMIT, (effective_limit(view, name), name))
