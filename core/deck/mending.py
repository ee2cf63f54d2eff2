"""What the auditor found: told as events, shown, and mended where it can be."""

from __future__ import annotations

from collections.abc import Sequence

from batchdeck.core.deck.audit import Violation
from batchdeck.core.deck.dispatcher import interrupted
from batchdeck.core.deck.outcomes import ended
from batchdeck.core.deck.tasks import begin_task
from batchdeck.core.deck.work import Work
from batchdeck.core.model.turn import LIVE

FROM_DISK = frozenset({"counts", "slots", "disk"})
"""Kinds that are mended by reading the file again."""


def mend(work: Work, found: Sequence[Violation], adopt: frozenset[int]) -> None:
    """Tells of each violation, and does what follows. `adopt`: turns that are taken over again."""
    for violation in found:
        work.emit(
            "audit.violation",
            work.state.turns.get(violation.turn or 0),
            by="batchdeck",
            what=violation.kind,
            reason=violation.words,
            mended=_mended(work, violation, adopt),
        )


def _mended(work: Work, violation: Violation, adopt: frozenset[int]) -> str | None:
    """Mends what can be mended; what was done, in words."""
    if violation.kind in FROM_DISK:
        return "read again from disk"
    if violation.kind == "stranded task" and violation.task is not None:
        return f"queued as #{begin_task(work, work.state.tasks[violation.task]).id}"
    turn = work.state.turns.get(violation.turn or 0)
    if violation.kind != "stranded turn" or turn is None or turn.state not in LIVE:
        return None
    if turn.id in adopt:
        return "taken over"
    ended(work, turn.id, turn.attempt or "", interrupted())
    return "queued again"
