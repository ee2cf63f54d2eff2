"""What the items of a foreach wrote, put together in item order; conflicts refuse all of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

MERGEABLE = frozenset({"append", "merge", "sum", "last"})
"""Reducers by which several items may write one path; without one, a value replaces."""


class Patch(NamedTuple):
    """One value that one step of one item wrote; made by the ten thousand, so it is a tuple."""

    item: int
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
        seen = writers.get(patch.path)
        if seen is None:
            writers[patch.path] = [patch]
            continue
        first_one = seen[0]
        # the first of two different items is all that a later question can need
        if len(seen) == 1 and first_one.item != patch.item:
            seen.append(patch)
        if first_one.reducer != patch.reducer or patch.reducer not in MERGEABLE:
            _check_same_path(first_one, patch)
    for path, seen in writers.items():
        for parent in _parents(path):
            _check_parent(path, seen, parent, writers.get(parent, ()))


def _check_same_path(first: Patch, other: Patch) -> None:
    if first.reducer != other.reducer:
        raise Conflict(
            f"{_both(first, other)} write {other.path!r} with two reducers "
            f"({first.reducer or 'none'} and {other.reducer or 'none'})"
        )
    if first.item != other.item and other.reducer not in MERGEABLE:
        raise Conflict(f"{_both(first, other)} both write {other.path!r}, without a reducer")


def _check_parent(path: str, below: list[Patch], parent: str, above: Iterable[Patch]) -> None:
    for one in above:
        for other in below:
            if one.item != other.item:
                raise Conflict(
                    f"{_both(one, other)} cannot both write {parent!r} and {path!r}: "
                    "one holds the other"
                )


def _both(one: Patch, other: Patch) -> str:
    first, second = sorted((one.item, other.item))
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
    places: dict[str, dict[str, Any]] = {}
    before: dict[str, int] = {}
    for patch in sorted(patches, key=_IN_ORDER):
        path = patch.path
        place = places.get(path)
        if place is None:
            place = places[path] = _place(values, patch)
        name = path.rpartition(".")[2]
        try:
            if name not in place:
                place[name] = first(patch.reducer, patch.value)
            elif patch.reducer == "append":
                place[name].append(patch.value)
            else:
                place[name] = reduce(patch.reducer, place[name], patch.value)
        except ValueError as error:
            earlier = f", after item {before[path]}," if path in before else ""
            words = f"item {patch.item}{earlier} writes {path!r}: {error}"
            raise Conflict(words) from None
        before[path] = patch.item
    return values


_IN_ORDER = itemgetter(0, 1)


def visible(patches: Iterable[Patch]) -> dict[str, Any]:
    """What an item reads of its own writes while nothing is committed."""
    return fold(patches)


def _place(values: dict[str, Any], patch: Patch) -> dict[str, Any]:
    """The object that holds what a path names; it is made where it is not there."""
    place = values
    for part in patch.path.split(".")[:-1]:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise Conflict(f"item {patch.item} writes {patch.path!r}, below a value")
    return place


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
