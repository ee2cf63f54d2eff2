"""Works out, in memory, how the budgets of a batch stand."""

from __future__ import annotations

from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.budget import Spent
from batchdeck.core.rules.budgets import budget_names, standing

_NOTHING = Spent()


def stand_budgets(state: DeckState, batch: str) -> None:
    """Brings them up to date with what has been spent and what is allowed."""
    for name in budget_names(batch):
        state.budgets.pop(name, None)
    budget = state.budgets_of.get(batch)
    if budget is not None:
        spent = state.spent.get(f"batch:{batch}", _NOTHING)
        state.budgets.update(standing(budget, spent))
    state.touch("budgets")
