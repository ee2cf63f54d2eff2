"""The order of service, and a turn's place in it."""

from __future__ import annotations

from collections.abc import Mapping

from batchdeck.core.model.line import lines_of
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.view import DeckView

ServiceKey = tuple[int, ...]
"""Sorts queued turns in the order of service: one or more of `Turn.service_key`, its own last."""


def service_order(view: DeckView) -> tuple[int, ...]:
    """Ids of the queued turns in the order of service."""
    behind = keys_behind(view)
    queued = (turn for turn in view.turns.values() if turn.state is TurnState.QUEUED)
    return tuple(key[-1] for key in sorted(key_of(turn, behind) for turn in queued))


def place(turn: Turn, view: DeckView) -> int:
    """1-based place of a queued turn among the queued turns of its agent.

    The turn may be one that is not stored yet, see `consequences.with_lines`.
    """
    behind = keys_behind(view)
    key = _key_after(turn, _furthest_before(turn, view, behind))
    return 1 + sum(
        1
        for other in view.turns.values()
        if other.state is TurnState.QUEUED
        and other.agent == turn.agent
        and key_of(other, behind) < key
    )


def key_of(turn: Turn, behind: Mapping[int, ServiceKey]) -> ServiceKey:
    """What sorts a queued turn; `behind`: see `keys_behind`."""
    return behind.get(turn.id, turn.service_key)


def keys_behind(view: DeckView) -> dict[int, ServiceKey]:
    """Keys of the queued turns that go later than their priority says.

    A line is served in the order received, so priority acts by its head: whatever its own is, a
    turn comes after those of its lines that were received before it.
    """
    members = {turn for line in view.in_order.values() for turn in line}
    turns = [turn for turn in map(view.turns.__getitem__, members) if _is_queued(turn)]
    if len({turn.priority for turn in turns}) < 2:
        return {}
    turns.sort(key=_received)
    furthest: dict[str, ServiceKey] = {}
    found: dict[int, ServiceKey] = {}
    for turn in turns:
        lines = [line for line in lines_of(turn) if line in view.in_order]
        key = _key_after(turn, max(furthest.get(line, ()) for line in lines))
        if key != turn.service_key:
            found[turn.id] = key
        furthest.update((line, max(key, furthest.get(line, ()))) for line in lines)
    return found


def _furthest_before(turn: Turn, view: DeckView, behind: Mapping[int, ServiceKey]) -> ServiceKey:
    """The key of the one that goes last of those queued before a turn in its lines."""
    members = (
        view.turns[member] for line in lines_of(turn) for member in view.in_order.get(line, ())
    )
    before = (o for o in members if _is_queued(o) and _received(o) < _received(turn))
    return max((key_of(other, behind) for other in before), default=())


def _key_after(turn: Turn, other: ServiceKey) -> ServiceKey:
    """The key of a turn that may go once one with the key `other` has gone.

    Of what has kept that one back it is behind what would have gone after it in any case: its own
    priority decides among those that may go by then.
    """
    own = turn.service_key
    kept = len(other)
    while kept and other[kept - _LENGTH : kept] < own:
        kept -= _LENGTH
    return (*other[:kept], *own)


_LENGTH = 3
"""Of a `Turn.service_key`."""


def _received(turn: Turn) -> tuple[int, int]:
    return turn.position, turn.id


def _is_queued(turn: Turn) -> bool:
    return turn.state is TurnState.QUEUED


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th` …"""
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
