"""A queue in another order: who gets whose place."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from batchdeck.core.errors import Refused
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.turn import Turn


class Where(StrEnum):
    """Where a turn is moved to among its agent's queued turns."""

    FIRST = "first"
    LAST = "last"
    UP = "up"
    DOWN = "down"
    BEFORE = "before"
    AFTER = "after"


def reordered(
    queue: Sequence[Turn],
    turn: Turn,
    where: Where,
    anchor: Turn | None = None,
    others: Sequence[Turn] = (),
) -> list[Turn]:
    """The turns of `queue` (in the order of service) that get another place, with that place.

    The places themselves, priority and position, stay the same set: nobody of another agent is
    overtaken who was not overtaken before. `others`: turns elsewhere, of the same targets and
    conversations, that have not ended.

    Raises:
        Refused: turns of one target or conversation would no longer be in the order received.
    """
    wanted = [other for other in queue if other.id != turn.id]
    wanted.insert(_index(queue, wanted, turn, where, anchor), turn)
    moved = [
        evolve(other, priority=held.priority, position=held.position)
        for other, held in zip(wanted, queue, strict=True)
    ]
    _check_order([*queue, *others], [*moved, *others])
    before = {other.id: other for other in queue}
    return [
        other
        for other in moved
        if (other.priority, other.position)
        != (before[other.id].priority, before[other.id].position)
    ]


def _index(
    queue: Sequence[Turn],
    rest: Sequence[Turn],
    turn: Turn,
    where: Where,
    anchor: Turn | None,
) -> int:
    now = [other.id for other in queue].index(turn.id)
    match where:
        case Where.FIRST:
            return 0
        case Where.LAST:
            return len(rest)
        case Where.UP:
            return max(0, now - 1)
        case Where.DOWN:
            return min(len(rest), now + 1)
    if anchor is None or anchor.id == turn.id:
        return now
    at = [other.id for other in rest].index(anchor.id)
    return at if where is Where.BEFORE else at + 1


def _check_order(before: Sequence[Turn], after: Sequence[Turn]) -> None:
    for key in ("target", "conversation"):
        for name in {getattr(turn, key) for turn in before} - {None}:
            was = _received(before, key, name)
            if _received(after, key, name) != was:
                subject = f"target {name}" if key == "target" else f"conversation c{name}"
                raise Refused(
                    f"{subject} runs strictly in the order received: "
                    f"{', '.join(f'#{turn}' for turn in was)}."
                )


def _received(turns: Sequence[Turn], key: str, name: object) -> list[int]:
    members = [turn for turn in turns if getattr(turn, key) == name]
    return [turn.id for turn in sorted(members, key=lambda turn: (turn.position, turn.id))]
