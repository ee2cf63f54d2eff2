"""The plan: what would start now, in which order; the oracle that the scheduler must equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from batchdeck.core.model.gate import Gate
from batchdeck.core.model.limit import GLOBAL, Limit
from batchdeck.core.rules.gates import admissible, gates_of, shut
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.rules.order import service_order
from batchdeck.core.rules.standing import Standing, limit_names
from batchdeck.core.view import DeckView


@dataclass(frozen=True, slots=True)
class Waiter:
    """A queued turn that would still wait, and on what."""

    turn: int
    gates: tuple[Gate, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one sweep would do."""

    starts: tuple[int, ...]
    waits: tuple[Waiter, ...] = ()


def starts(view: DeckView, now_ms: int) -> tuple[int, ...]:
    """Ids of the turns that a sweep would start now, in order."""
    return tuple(start_among(Standing(view), service_order(view), now_ms))


def start_among(
    standing: Standing, in_order: Iterable[int], now_ms: int, patience: int | None = None
) -> list[int]:
    """Starts, in `standing`, the turns of `in_order` that a sweep would start; returns their ids.

    Args:
        in_order: Queued turns in the order of service.
        patience: After so many turns nothing further is looked at; None: all of them.
    """
    view = standing.view
    if "deck" in view.holds or view.draining:
        return []
    most = effective_limit(view, GLOBAL) or 0
    full: set[str] = set()
    started: list[int] = []
    for turn_id in islice(in_order, patience):
        if standing.used(GLOBAL) >= most:
            break
        turn = view.turns[turn_id]
        names = limit_names(turn)
        # what is full stays so: everything behind it that counts there is skipped
        if not full.isdisjoint(names):
            continue
        if admissible(turn, standing, now_ms):
            standing.start(turn)
            started.append(turn_id)
        full.update(name for name in names if standing.full(name))
    return started


def plan(view: DeckView, now_ms: int) -> Plan:
    """What would start now, and of the rest, what each would wait for."""
    standing = Standing(view)
    started = start_among(standing, service_order(view), now_ms)
    known = set(started)
    waits = (
        Waiter(turn_id, shut(gates_of(view.turns[turn_id], standing, now_ms)))
        for turn_id in service_order(view)
        if turn_id not in known
    )
    return Plan(tuple(started), tuple(waits))


def with_limits(view: DeckView, changes: dict[str, int | None]) -> DeckView:
    """The view as it would be with other limits; names are full."""
    limits = dict(view.limits)
    for name, value in changes.items():
        before = limits.get(name)
        limits[name] = Limit(name, value) if before is None else replace(before, value=value)
    return replace(view, limits=limits)
