"""Changing a limit: recorded, and felt in the same transaction."""

from __future__ import annotations

from batchdeck.core.commands import Receipt, SetLimit
from batchdeck.core.deck.work import Work
from batchdeck.core.model.limit import ATTENTION, Limit
from batchdeck.core.rules.limits import check_limit, effective_limit, full_limit_name
from batchdeck.core.store import changes as sql


def put_limit(work: Work, limit: Limit) -> None:
    """Takes in a number: in memory, for the scheduler, for the guard, and as an event."""
    before = work.state.limits.get(limit.name)
    work.state.limits[limit.name] = limit
    work.state.touch("limits")
    binding = effective_limit(work.view, limit.name)
    work.changes.add(
        sql.SAVE_LIMIT,
        (
            limit.name,
            limit.value,
            binding,
            limit.changed_by,
            limit.changed_ms,
            limit.origin,
            int(limit.explicit),
        ),
    )
    if limit.name != ATTENTION:
        work.scheduler.set_limit(limit.name, binding)
    if before is None or before.value != limit.value:
        work.emit(
            "limit.changed",
            by=limit.changed_by or None,
            name=limit.name,
            before=None if before is None else before.value,
            after=limit.value,
            origin=limit.origin,
        )


def set_limit(work: Work, command: SetLimit) -> Receipt:
    """What a person asked for, under a name as people write it.

    Raises:
        BadInput: no such limit, or a number it may not have.
    """
    name = full_limit_name(work.view, command.name)
    check_limit(work.view, name, command.value)
    before = effective_limit(work.view, name)
    limit = Limit(
        name,
        command.value,
        command.by,
        work.now_ms,
        origin=command.origin,
        explicit=command.explicit,
    )
    put_limit(work, limit)
    return Receipt(
        accepted=True,
        before=before,
        message=f"{name} {number_words(before)} → {number_words(effective_limit(work.view, name))}",
    )


def number_words(number: int | None) -> str:
    """A limit as it is shown: `∞` for none, `closed` for 0."""
    if number is None:
        return "∞"
    return "closed" if number == 0 else str(number)
