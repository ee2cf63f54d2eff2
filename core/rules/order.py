"""The order of service, and a turn's place in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

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


def keys_behind(view: DeckView, uneven: Collection[str] | None = None) -> dict[int, ServiceKey]:
    """Keys of the queued turns that go later than their priority says.

    A line is served in the order received, so priority acts by its head: whatever its own is, a
    turn comes after those of its lines that were received before it.

    Args:
        uneven: What `uneven_lines` says of all lines, where somebody knows it already.
    """
    lines = set(uneven_lines(view, view.in_order) if uneven is None else uneven)
    while True:
        found = _keys_in(view, lines)
        # whoever stands behind one that goes later goes later too, in its other lines as well
        others = {line for turn in found for line in lines_of(view.turns[turn])}
        others = {line for line in others if line in view.in_order} - lines
        if not others:
            return found
        lines |= others


def uneven_lines(view: DeckView, lines: Iterable[str]) -> set[str]:
    """Those whose queued turns are not all of one priority: only there an order can differ."""
    return {line for line in lines if len({turn.priority for turn in _queued(view, line)}) > 1}


def _queued(view: DeckView, line: str) -> Iterator[Turn]:
    return filter(_is_queued, map(view.turns.__getitem__, view.in_order.get(line, ())))


def _keys_in(view: DeckView, lines: Collection[str]) -> dict[int, ServiceKey]:
    turns = {turn.id: turn for line in lines for turn in _queued(view, line)}
    furthest: dict[str, ServiceKey] = dict.fromkeys(lines, ())
    found: dict[int, ServiceKey] = {}
    for turn in sorted(turns.values(), key=_received):
        own = [line for line in lines_of(turn) if line in furthest]
        key = _key_after(turn, max(furthest[line] for line in own))
        if key != turn.service_key:
            found[turn.id] = key
        furthest.update((line, max(key, furthest[line])) for line in own)
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
