"""A queue in another order: who gets which priority and position."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from batchdeck.core.errors import Refused
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.line import lines_of, target_line
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.order import ServiceKey, key_of, keys_behind
from batchdeck.core.view import DeckView


class Where(StrEnum):
    """Where a turn is moved to among its agent's queued turns."""

    FIRST = "first"
    LAST = "last"
    UP = "up"
    DOWN = "down"
    BEFORE = "before"
    AFTER = "after"


def reordered(view: DeckView, turn: Turn, where: Where, anchor: Turn | None = None) -> list[Turn]:
    """The turns that have to be changed so that `turn` goes there; none: it is there already.

    As little as possible is changed: the turn's own priority where that is enough, else the
    positions of those that it goes past, which they hand on to each other. Turns that their lines
    keep back go with the one that they wait for.

    Raises:
        Refused: turns of one target or conversation would no longer be in the order received.
    """
    behind = keys_behind(view)
    stops = _stops(view, turn, behind)
    keys = [stop.key for stop in stops]
    now = bisect_right(keys, key_of(turn, behind)[:_LENGTH])
    at = _index(where, now, keys, turn, None if anchor is None else key_of(anchor, behind))
    if at == now:
        return []
    _check_lines(view, turn, behind, keys[at:] if at < now else keys[:at], up=at < now)
    changed = _changed(turn, stops[:at], stops[at:], up=at < now)
    _check_positions(view, changed)
    return changed


class _Stop(NamedTuple):
    """A turn before or after which another can be put, with those that ride behind it."""

    key: ServiceKey
    turn: Turn | None
    """None: it is another agent's, and one of this agent's rides behind it."""

    @property
    def priority(self) -> int:
        return -self.key[0]


def _stops(view: DeckView, turn: Turn, behind: Mapping[int, ServiceKey]) -> list[_Stop]:
    """Those of a turn's agent, without the turn itself and what rides behind it."""
    found: dict[ServiceKey, Turn | None] = {}
    for other in view.turns.values():
        if other.state is TurnState.QUEUED and other.agent == turn.agent:
            key = key_of(other, behind)
            if key == other.service_key:
                found[key] = other
            else:
                found.setdefault(key[:_LENGTH], None)
    found.pop(turn.service_key, None)
    return [_Stop(key, found[key]) for key in sorted(found)]


_LENGTH = 3
"""Of a `Turn.service_key`; a longer key begins with that of the turn that it waits for."""


def _index(
    where: Where, now: int, keys: Sequence[ServiceKey], turn: Turn, anchor: ServiceKey | None
) -> int:
    """Before which of the others it is to go. `anchor`: the key of the turn that was named."""
    match where:
        case Where.FIRST:
            return 0
        case Where.LAST:
            return len(keys)
        case Where.UP:
            return max(0, now - 1)
        case Where.DOWN:
            return min(len(keys), now + 1)
    if anchor is None or anchor[:_LENGTH] == turn.service_key:
        return now
    find = bisect_left if where is Where.BEFORE else bisect_right
    return find(keys, anchor[:_LENGTH])


def _check_lines(
    view: DeckView,
    turn: Turn,
    behind: Mapping[int, ServiceKey],
    passed: Sequence[ServiceKey],
    *,
    up: bool,
) -> None:
    """Raises: Refused: it would go past one that was received before, or after, it in its lines."""
    mine = turn.position, turn.id
    for line in lines_of(turn):
        for other in map(view.turns.__getitem__, view.in_order.get(line, ())):
            if other.state is not TurnState.QUEUED or other.id == turn.id:
                continue
            is_before = (other.position, other.id) < mine
            key = key_of(other, behind)
            if up and is_before and key >= passed[0]:
                words = f"#{turn.id} goes after #{other.id}, which was received before it"
                raise Refused(f"{words} {_subject(line, turn)}.")
            if not up and not is_before and key <= passed[-1] and key == other.service_key:
                words = f"#{other.id} was received after #{turn.id}"
                raise Refused(f"{words} {_subject(line, turn)}, and would have to wait for it.")


def _changed(
    turn: Turn, before: Sequence[_Stop], after: Sequence[_Stop], *, up: bool
) -> list[Turn]:
    left, right = (before or (None,))[-1], (after or (None,))[0]
    neighbours = [stop for stop in (right, left) if stop is not None]
    for priority in (turn.priority, *(stop.priority for stop in neighbours)):
        key = (-priority, turn.position, turn.id)
        if (left is None or left.key < key) and (right is None or key < right.key):
            return [evolve(turn, priority=priority)]
    priority = neighbours[0 if up else -1].priority
    moved = evolve(turn, priority=priority)
    known = [*(stop.turn for stop in before), moved, *(stop.turn for stop in after)]
    peers = [other for other in known if other is not None and other.priority == priority]
    positions = sorted(other.position for other in peers)
    new = {
        other.id: evolve(other, position=position)
        for other, position in zip(peers, positions, strict=True)
    }
    keys = [stop.key if stop.turn is None else _key(stop.turn, new) for stop in before]
    keys.append(_key(moved, new))
    keys += [stop.key if stop.turn is None else _key(stop.turn, new) for stop in after]
    if keys != sorted(keys):
        raise Refused(f"#{turn.id} cannot go past a turn of another agent there.")
    old = {other.id: other for other in known if other is not None} | {turn.id: turn}
    return [other for other in new.values() if other != old[other.id]]


def _key(turn: Turn, new: Mapping[int, Turn]) -> ServiceKey:
    return new.get(turn.id, turn).service_key


def _check_positions(view: DeckView, changed: Sequence[Turn]) -> None:
    """Raises: Refused: turns elsewhere would no longer be in the order received."""
    new = {turn.id: turn for turn in changed}
    for line in {line for turn in changed for line in lines_of(turn)}:
        was = view.in_order.get(line, ())
        members = [new.get(member, view.turns[member]) for member in was]
        members.sort(key=lambda member: (member.position, member.id))
        if tuple(member.id for member in members) != tuple(was):
            named = ", ".join(f"#{member}" for member in was)
            words = _subject(line, members[0])
            raise Refused(f"What was received {words} runs strictly in that order: {named}.")


def _subject(line: str, turn: Turn) -> str:
    is_target = turn.target is not None and line == target_line(turn.target)
    return f"for target {turn.target}" if is_target else "in its conversation"
