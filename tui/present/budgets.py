"""Budgets and what was used, in words."""

from __future__ import annotations

from batchdeck.core.model.budget import Spent
from batchdeck.core.rules.budgets import MONEY, closes, may_still_use
from batchdeck.core.view import DeckView, Spending


def count_words(tokens: float) -> str:
    """`950`, `12.3k`, `1.20M`: tokens, short."""
    if tokens < 1_000:
        return f"{tokens:.0f}"
    if tokens < 1_000_000:
        return f"{tokens / 1_000:.1f}k"
    return f"{tokens / 1_000_000:.2f}M"


def is_up(spending: Spending) -> bool:
    """Whether all of it is used."""
    return spending.used >= spending.limit


def used_words(name: str, spending: Spending) -> str:
    """`1.20M of 2.00M tokens`, with how many attempts said nothing."""
    unknown = f" + {spending.unknown} unknown" if spending.unknown else ""
    if name.endswith(MONEY):
        return f"{spending.used:.2f} of {spending.limit:.2f} money{unknown}"
    return f"{count_words(spending.used)} of {count_words(spending.limit)} tokens{unknown}"


def batch_of(name: str) -> str:
    """The batch that a budget is of."""
    return name.removeprefix("batch:").removesuffix(MONEY)


def budget_words(names: str) -> str:
    """The budgets of a gate, which it names one after the other: `docs (money)`."""
    words = (
        f"{batch_of(name)} ({'money' if name.endswith(MONEY) else 'tokens'})"
        for name in names.split(", ")
    )
    return ", ".join(words)


def reached_words(view: DeckView, name: str) -> str:
    """What the operator is to know of a batch whose budget is used up."""
    spending, batch = view.budgets[name], batch_of(name)
    used = f"has used {used_words(name, spending)}"
    if not closes(spending):
        return f"{used}; it goes on"
    running = view.running_by.get(f"batch:{batch}", 0)
    still = f"; {running} running may use {_more(view, name, running)}" if running else ""
    return f"{used}: nothing of it starts{still}"


def _more(view: DeckView, name: str, running: int) -> str:
    """`some 24.0k tokens more`: as much as attempts did so far, on average; or only `more`."""
    spent = view.spent.get(f"batch:{batch_of(name)}", Spent())
    expected = may_still_use(spent, running)
    if name.endswith(MONEY):
        return "more" if expected.money is None else f"some {expected.money:.2f} money more"
    if expected.tokens is None:
        return "more"
    return f"some {count_words(expected.tokens)} tokens more"


def spent_words(spent: Spent) -> str:
    """`12.3k tokens, 0.40 + 1 unknown money`; empty: no attempt has ended."""
    if not spent.attempts:
        return ""
    tokens = _known(count_words(spent.tokens), spent.unknown, spent.attempts)
    money = _known(f"{spent.money:.2f}", spent.unpriced, spent.attempts)
    return f"{tokens} tokens, {money} money"


def _known(sum_words: str, unknown: int, attempts: int) -> str:
    """A sum; with how many attempts it does not count, and `unknown` where that is all."""
    if not unknown:
        return sum_words
    return "unknown" if unknown == attempts else f"{sum_words} + {unknown} unknown"
