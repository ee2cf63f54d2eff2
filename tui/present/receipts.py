"""Receipts in words."""

from __future__ import annotations

from batchdeck.core.commands import Receipt
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.order import ordinal
from batchdeck.core.text import one_line
from batchdeck.tui.present.limits import number


def sent_words(label: str, receipt: Receipt) -> str:
    """What became of a message."""
    turn = "" if receipt.turn is None else f": #{receipt.turn}"
    if receipt.state is TurnState.QUEUED:
        place = "" if receipt.position is None else f", {ordinal(receipt.position)}"
        return f"queued for {label}{turn}{place}"
    passed = f", past {', '.join(receipt.bypassed)}" if receipt.bypassed else ""
    return f"sent to {label}{turn}{passed}"


def limit_changed_words(name: str, receipt: Receipt, before: int | None, after: int | None) -> str:
    """`agent coder 2 → 3`"""
    was = receipt.before if receipt.before is not None else before
    return f"{name.replace(':', ' ')}: {number(was)} → {number(after)}"


def refused_words(receipt: Receipt) -> str:
    """Why the deck did not do it, in one line."""
    return one_line(receipt.message) or f"refused: {receipt.error or 'no reason given'}"
