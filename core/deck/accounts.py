"""Which agents may not start because of their account, and when that is over."""

from __future__ import annotations

from collections.abc import Iterator

from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.account import account_of
from batchdeck.core.rules.cooling import admits_probe


def shut_agents(state: DeckState, now_ms: int) -> Iterator[str]:
    """The agents whose account is held or cools down."""
    closed = {what.partition(":")[2] for what in state.holds if what.startswith("account:")}
    for cooldown in state.cooldowns.values():
        if not admits_probe(cooldown, state.turns, now_ms):
            closed.add(cooldown.account)
    if not closed:
        return
    for agent in state.agents.values():
        if account_of(agent) in closed:
            yield agent.name


def next_reset_ms(state: DeckState, now_ms: int) -> int | None:
    """When the next account may be tried again, among those whose time has not come."""
    coming = (one.until_ms for one in state.cooldowns.values() if one.until_ms > now_ms)
    return min(coming, default=None)
