"""What the items of a foreach wrote, put together in item order; conflicts refuse all of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MERGEABLE = frozenset({"append", "merge", "sum", "last"})
"""Reducers by which several items may write one path; without one, a value replaces."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One value that one step of one item wrote."""

    index: int
    """The item's place."""
    step: int
    path: str
    """Dotted."""
    value: Any
    reducer: str | None = None


class Conflict(Exception):
    """Writes that cannot be put together; the message names the path and both items."""


def check_patches(patches: Iterable[Patch]) -> None:
    """Refuses what two items may not both write; what one item writes is its own business.

    Raises:
        Conflict: two items write a path without a reducer that can merge, or one writes a parent
            of what another writes, or a path is written by two reducers.
    """
    writers: dict[str, list[Patch]] = {}
    for patch in patches:
        seen = writers.setdefault(patch.path, [])
        # the first of two different items is all that a later question can need
        if not seen or (len(seen) == 1 and seen[0].index != patch.index):
            seen.append(patch)
        _check_same_path(seen[0], patch)
    for path, seen in writers.items():
        for parent in _parents(path):
            _check_parent(path, seen, parent, writers.get(parent, ()))


def _check_same_path(first: Patch, other: Patch) -> None:
    if first.reducer != other.reducer:
        raise Conflict(
            f"{_both(first, other)} write {other.path!r} with two reducers "
            f"({first.reducer or 'none'} and {other.reducer or 'none'})"
        )
    if first.index != other.index and other.reducer not in MERGEABLE:
        raise Conflict(f"{_both(first, other)} both write {other.path!r}, without a reducer")


def _check_parent(path: str, below: list[Patch], parent: str, above: Iterable[Patch]) -> None:
    for one in above:
        for other in below:
            if one.index != other.index:
                raise Conflict(
                    f"{_both(one, other)} cannot both write {parent!r} and {path!r}: "
                    "one holds the other"
                )


def _both(one: Patch, other: Patch) -> str:
    first, second = sorted((one.index, other.index))
    return f"item {first}" if first == second else f"items {first} and {second}"


def _parents(path: str) -> Iterable[str]:
    parts = path.split(".")
    return (".".join(parts[:depth]) for depth in range(1, len(parts)))


def fold(patches: Iterable[Patch]) -> dict[str, Any]:
    """The values that checked patches come to, whatever order they are given in.

    Raises:
        Conflict: a value does not fit its reducer, or what is there already.
    """
    values: dict[str, Any] = {}
    before: dict[str, int] = {}
    for patch in sorted(patches, key=lambda patch: (patch.index, patch.step)):
        _write(values, patch, before.get(patch.path))
        before[patch.path] = patch.index
    return values


def visible(patches: Iterable[Patch]) -> dict[str, Any]:
    """What an item reads of its own writes while nothing is committed."""
    return fold(patches)


def _write(values: dict[str, Any], patch: Patch, before: int | None) -> None:
    *way, name = patch.path.split(".")
    place = values
    for part in way:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise Conflict(f"item {patch.index} writes {patch.path!r}, below a value")
    try:
        if name not in place:
            place[name] = first(patch.reducer, patch.value)
        else:
            place[name] = reduce(patch.reducer, place[name], patch.value)
    except ValueError as error:
        earlier = "" if before is None else f", after item {before},"
        raise Conflict(f"item {patch.index}{earlier} writes {patch.path!r}: {error}") from None


def first(reducer: str | None, incoming: Any) -> Any:
    """What a path holds after the first value that reaches it.

    Raises:
        ValueError: the value does not fit the reducer.
    """
    if reducer == "append":
        return [incoming]
    if reducer == "merge":
        return reduce(reducer, {}, incoming)
    if reducer == "sum":
        return reduce(reducer, 0, incoming)
    return incoming


def reduce(reducer: str | None, current: Any, incoming: Any) -> Any:
    """What a path holds after one more value; `last` and no reducer replace.

    Raises:
        ValueError: the value does not fit the reducer.
    """
    if reducer == "append":
        current.append(incoming)
        return current
    if reducer == "merge":
        if not isinstance(incoming, Mapping) or not isinstance(current, dict):
            raise ValueError("merge takes objects")
        current.update(incoming)
        return current
    if reducer == "sum":
        return _sum(current, incoming)
    return incoming


def _sum(current: Any, incoming: Any) -> Any:
    if isinstance(incoming, bool) or not isinstance(incoming, int | float):
        raise ValueError("sum takes numbers")
    try:
        total = current + incoming
        is_number = isinstance(total, int) or math.isfinite(total)
    except OverflowError:
        is_number = False
    if not is_number:
        raise ValueError("the sum is too large for a number")
    return total
