"""What the auditor found: told as events, shown, and mended where it can be."""

from __future__ import annotations

from collections.abc import Sequence

from batchdeck.core.deck.audit import Violation
from batchdeck.core.deck.dispatcher import interrupted
from batchdeck.core.deck.outcomes import ended
from batchdeck.core.deck.tasks import begin_task
from batchdeck.core.deck.work import Work
from batchdeck.core.model.turn import LIVE, Turn

FROM_DISK = frozenset({"counts", "slots", "queue", "disk"})
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
        turn = begin_task(work, work.state.tasks[violation.task])
        _tell(work, turn, "it had no turn")
        return f"queued as #{turn.id}"
    stranded = work.state.turns.get(violation.turn or 0)
    if violation.kind != "stranded turn" or stranded is None or stranded.state not in LIVE:
        return None
    if stranded.id in adopt:
        return "taken over"
    ended(work, stranded.id, stranded.attempt or "", interrupted())
    _tell(work, stranded, "nobody waited for its process")
    return "queued again"


def _tell(work: Work, turn: Turn, reason: str) -> None:
    task = None if turn.task is None else work.state.tasks[turn.task]
    status = None if task is None else task.status
    work.emit("reconcile.requeued", turn, by="batchdeck", status=status, reason=reason)
