"""What may not start because of an account or a budget, for the scheduler."""

from __future__ import annotations

from batchdeck.core.deck.scheduler import Scheduler
from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.account import account_of
from batchdeck.core.rules.budgets import closed_batches
from batchdeck.core.rules.cooling import admits_probe
from batchdeck.core.rules.quiescing import quiesced


def shut_spent(state: DeckState, scheduler: Scheduler, now_ms: int) -> None:
    """Closes the agents whose account is held or cools down and the batches whose budget is used
    up, and opens those that were closed for that and are no longer."""
    shut = _shut_agents(state, now_ms)
    if state.budgets:
        shut |= {f"batch:{name}" for name in closed_batches(state.budgets)}
    if shut == state.shut:
        return
    changed, state.shut = shut ^ state.shut, shut
    waiting = {
        f"batch:{name}" for name in quiesced(state.asks.values(), state.turns, state.batches)
    }
    waiting |= {f"batch:{b.name}" for b in state.batches.values() if b.adding is not None}
    for slot in changed:
        scheduler.set_closed(slot, slot in shut or slot in state.holds or slot in waiting)


def _shut_agents(state: DeckState, now_ms: int) -> set[str]:
    closed = {what.partition(":")[2] for what in state.holds if what.startswith("account:")}
    for cooldown in state.cooldowns.values():
        if not admits_probe(cooldown, state.turns, now_ms):
            closed.add(cooldown.account)
    if not closed:
        return set()
    agents = state.agents.values()
    return {f"agent:{agent.name}" for agent in agents if account_of(agent) in closed}


def next_reset_ms(state: DeckState, now_ms: int) -> int | None:
    """When the next account may be tried again, among those whose time has not come."""
    coming = (one.until_ms for one in state.cooldowns.values() if one.until_ms > now_ms)
    return min(coming, default=None)
