"""Which agents may not start anything because of their account, for the scheduler."""

from __future__ import annotations

from batchdeck.core.deck.scheduler import Scheduler
from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.account import account_of
from batchdeck.core.rules.cooling import admits_probe


def shut_accounts(state: DeckState, scheduler: Scheduler, now_ms: int) -> None:
    """Closes the agents whose account is held or cools down, and opens those that were closed
    for that and are no longer."""
    shut = _shut_agents(state, now_ms)
    for name in shut ^ state.shut_agents:
        slot = f"agent:{name}"
        scheduler.set_closed(slot, name in shut or slot in state.holds)
    state.shut_agents = shut


def _shut_agents(state: DeckState, now_ms: int) -> set[str]:
    closed = {what.partition(":")[2] for what in state.holds if what.startswith("account:")}
    for cooldown in state.cooldowns.values():
        if not admits_probe(cooldown, state.turns, now_ms):
            closed.add(cooldown.account)
    if not closed:
        return set()
    return {agent.name for agent in state.agents.values() if account_of(agent) in closed}


def next_reset_ms(state: DeckState, now_ms: int) -> int | None:
    """When the next account may be tried again, among those whose time has not come."""
    coming = (one.until_ms for one in state.cooldowns.values() if one.until_ms > now_ms)
    return min(coming, default=None)
