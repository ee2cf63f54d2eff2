"""What tokens cost by the prices of an agent's definition."""

from __future__ import annotations

from dataclasses import replace

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.model.agent import Agent


def priced(outcome: Outcome, agent: Agent) -> Outcome:
    """With the cost worked out, where the program named none and everything is known for it."""
    if outcome.cost is not None or outcome.session_cost is not None:
        return outcome
    if agent.price_input is None or agent.price_output is None:
        return outcome
    if outcome.tokens_in is None or outcome.tokens_out is None:
        return outcome
    millionths = outcome.tokens_in * agent.price_input + outcome.tokens_out * agent.price_output
    return replace(outcome, cost=millionths / 1_000_000)
