"""Deliveries from outside: each is received once, however often and however quickly it comes."""

from __future__ import annotations

from batchdeck.core.deck.work import Work
from batchdeck.core.model.turn import Turn
from batchdeck.core.store import changes as sql

MOST_REMEMBERED = 10_000
"""Deliveries that are kept in memory; older ones were looked up on disk before."""


def received(work: Work, delivery_id: str | None, on_disk: Turn | None) -> Turn | None:
    """The turn that a delivery already made; `on_disk`: the one that was looked up beforehand.

    Two that come at the same moment were both looked up before either was stored.
    """
    turn_id = None if delivery_id is None else work.state.received.get(delivery_id)
    if on_disk is None and turn_id is None:
        return None
    if on_disk is None:
        return work.state.turns.get(turn_id or 0)
    return work.state.turns.get(on_disk.id, on_disk)


def note_delivery(work: Work, delivery_id: str | None, turn: int | None) -> None:
    """Remembers that a delivery made a turn."""
    if delivery_id is None or turn is None:
        return
    known = work.state.received
    known[delivery_id] = turn
    while len(known) > MOST_REMEMBERED:
        del known[next(iter(known))]
    work.changes.add(sql.INSERT_RECEIPT, (delivery_id, turn, work.now_ms))
