"""What attempts use, added up as they end, and what that does to budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.commands import Receipt
from batchdeck.core.deck.budgeting import stand_budgets
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import NotFound
from batchdeck.core.model.budget import Budget, Spent
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.turn import AttemptEnd, Turn
from batchdeck.core.rules.budgets import MONEY, budget_names
from batchdeck.core.store import changes as sql

_NEVER_BEGAN = frozenset({AttemptEnd.FENCED})
_NOTHING = Spent()
_DECIMALS = 12
"""Of a difference of two sums of money; what is beyond comes of the arithmetic."""


def spend(work: Work, turn: Turn, outcome: Outcome) -> None:
    """Adds what an attempt has used to its agent's and its batch's sums."""
    if outcome.end in _NEVER_BEGAN or outcome.surroundings is not None:
        return
    names = [f"agent:{turn.agent}"] + ([f"batch:{turn.batch}"] if turn.batch else [])
    for name in names:
        work.state.spent[name] = _plus(work.state.spent.get(name, _NOTHING), outcome)
        work.note_spent(name)
    if turn.batch in work.state.budgets_of:
        _stand(work, turn.batch)


def with_own_cost(work: Work, turn: Turn, outcome: Outcome) -> Outcome:
    """An attempt's own cost, of a program that tells what its whole session has cost so far.

    A sum that is smaller than before is another count, such as that of a new process.
    """
    total = outcome.session_cost
    if total is None:
        return outcome
    conversation = work.state.conversations[turn.conversation]
    goes_on = outcome.session is not None and outcome.session == conversation.session
    before = (conversation.session_cost or 0.0) if goes_on else 0.0
    own = total if total < before else round(total - before, _DECIMALS)
    return evolve(outcome, cost=own)


def _plus(spent: Spent, outcome: Outcome) -> Spent:
    counts = (outcome.tokens_in, outcome.tokens_out)
    said = None not in counts
    return Spent(
        tokens=spent.tokens + sum(count or 0 for count in counts),
        money=spent.money + (outcome.cost or 0.0),
        unknown=spent.unknown + (not said),
        unpriced=spent.unpriced + (outcome.cost is None),
        attempts=spent.attempts + 1,
    )


def _stand(work: Work, batch: str) -> None:
    """Brings a batch's budgets up to date, and tells of one that has been reached."""
    before = {name: work.state.budgets.get(name) for name in budget_names(batch)}
    stand_budgets(work.state, batch)
    for name, was in before.items():
        now = work.state.budgets.get(name)
        if now is None or now.used < now.limit or (was is not None and was.used >= was.limit):
            continue
        unit = "money" if name.endswith(MONEY) else "tokens"
        work.emit(
            "budget.reached", batch=batch, unit=unit, used=now.used, budget=now.limit, hard=now.hard
        )


def take_in_budget(work: Work, batch: str, wanted: Mapping[str, Any] | None) -> None:
    """What a batch file says of its budget; what was allowed beyond the same one stays allowed."""
    before = work.state.budgets_of.get(batch)
    if wanted is None:
        if before is not None:
            del work.state.budgets_of[batch]
            work.changes.add(sql.DROP_BUDGET, (batch,))
            stand_budgets(work.state, batch)
        return
    budget = Budget(batch, wanted.get("tokens"), wanted.get("money"), bool(wanted.get("hard")))
    if before is not None and evolve(before, granted=1) == budget:
        return
    _keep(work, budget)


def allow_more(work: Work, batch: str, by: str) -> Receipt:
    """A person allows a batch as much again as its file says.

    Raises:
        NotFound: it has no budget.
    """
    budget = work.state.budgets_of.get(batch)
    if budget is None:
        raise NotFound(f"There is no budget of a batch {batch!r}.")
    _keep(work, evolve(budget, granted=budget.granted + 1))
    work.emit("budget.raised", batch=batch, by=by, times=budget.granted + 1)
    return Receipt(
        accepted=True, message=f"{batch} may use {budget.granted + 1} times its budget now"
    )


def _keep(work: Work, budget: Budget) -> None:
    work.state.budgets_of[budget.batch] = budget
    row = (budget.batch, budget.tokens, budget.money, int(budget.hard), budget.granted)
    work.changes.add(sql.SAVE_BUDGET, row)
    _stand(work, budget.batch)
