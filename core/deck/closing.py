"""Which limits and folders admit nothing now, whatever their numbers say: asked by all who do."""

from __future__ import annotations

from collections.abc import Iterator

from batchdeck.core.deck.accounts import shut_agents
from batchdeck.core.deck.scheduler import Scheduler
from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.hold import DECK
from batchdeck.core.model.limit import ATTENTION, GLOBAL, batch_limit
from batchdeck.core.rules.budgets import closed_batches
from batchdeck.core.rules.quiescing import quiesced

_HELD_BY_NAME = ("agent:", "batch:", "folder:")


def closed_slots(state: DeckState, now_ms: int) -> frozenset[str]:
    """The limits that are closed, by their full names, and folders as `folder:KEY`."""
    closed = {what for what in state.holds if what.startswith(_HELD_BY_NAME)}
    if DECK in state.holds or state.draining or _too_many_wait(state):
        closed.add(GLOBAL)
    closed.update(batch_limit(name) for name in _closed_batches(state))
    closed.update(f"agent:{name}" for name in shut_agents(state, now_ms))
    return frozenset(closed)


def _too_many_wait(state: DeckState) -> bool:
    """As many turns wait for a person as the operator allows."""
    limit = state.limits.get(ATTENTION)
    return limit is not None and limit.value is not None and len(state.waiting) >= limit.value


def _closed_batches(state: DeckState) -> Iterator[str]:
    yield from closed_batches(state.budgets)
    if state.asks:
        yield from quiesced(state.asks.values(), state.turns, state.batches)
    yield from (name for name, batch in state.batches.items() if batch.adding is not None)


def close_slots(state: DeckState, scheduler: Scheduler, now_ms: int) -> None:
    """Has the scheduler admit nothing where that is so now, and opens everything else."""
    scheduler.close(closed_slots(state, now_ms))
    state.closed_as_of_ms = now_ms
