"""Receipts in words."""

from __future__ import annotations

from collections.abc import Sequence

from batchdeck.core.commands import Receipt
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.order import ordinal
from batchdeck.core.text import one_line
from batchdeck.tui.present.cells import Tone
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


def bulk_words(receipts: Sequence[Receipt], done: str) -> tuple[str, Tone]:
    """For how many of several commands it worked, and why not for the first that failed."""
    refused = [receipt for receipt in receipts if not receipt.accepted]
    if len(receipts) == 1:
        return (refused_words(refused[0]), Tone.ALERT) if refused else (f"1 {done}", Tone.PLAIN)
    count = f"{len(receipts) - len(refused)} of {len(receipts)}" if refused else str(len(receipts))
    if not refused:
        return f"{count} {done}", Tone.PLAIN
    return f"{count} {done}: {refused_words(refused[0])}", Tone.ALERT
