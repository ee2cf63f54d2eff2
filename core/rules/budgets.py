"""How budgets stand, and which batches they close."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from batchdeck.core.model.budget import Budget, Spent
from batchdeck.core.view import Spending

MONEY = "/money"
"""After a batch's name: its budget of money; without: that of tokens."""


def budget_names(batch: str) -> tuple[str, str]:
    """The names of a batch's two budgets in a view."""
    return f"batch:{batch}", f"batch:{batch}{MONEY}"


def standing(budget: Budget, spent: Spent) -> Iterator[tuple[str, Spending]]:
    """A batch's budgets by name, with what of each is used."""
    tokens, money = budget_names(budget.batch)
    if budget.tokens is not None:
        allowed = budget.tokens * budget.granted
        yield tokens, Spending(spent.tokens, allowed, budget.hard, spent.unknown)
    if budget.money is not None:
        limit = budget.money * budget.granted
        yield money, Spending(spent.money, limit, budget.hard, spent.unpriced)


@dataclass(frozen=True, slots=True)
class Expected:
    """What turns that run may still use; None: nobody knows."""

    tokens: float | None
    money: float | None


def may_still_use(spent: Spent, running: int) -> Expected:
    """What `running` turns use if each uses as much as an attempt did so far, on average."""
    told, priced = spent.attempts - spent.unknown, spent.attempts - spent.unpriced
    if not running:
        return Expected(0, 0.0)
    return Expected(
        round(running * spent.tokens / told) if told else None,
        running * spent.money / priced if priced else None,
    )


def closes(spending: Spending) -> bool:
    """Whether a budget lets nothing more start."""
    return spending.hard and spending.used >= spending.limit


def closed_batches(budgets: Mapping[str, Spending]) -> frozenset[str]:
    """Names of the batches of which a hard budget is used up."""
    return frozenset(
        name.removeprefix("batch:").removesuffix(MONEY)
        for name, spending in budgets.items()
        if closes(spending)
    )
