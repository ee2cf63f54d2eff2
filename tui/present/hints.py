"""The keys in the action bar: which of them fit, those to help and out always among them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

Hint = tuple[str, str]
"""A key and its word."""

_ALWAYS = ("help", "back", "leave")
"""Whoever is lost needs these; they are the last to go, the first of them the very last."""
_GAP = 2


def fitting_hints(hints: Sequence[Hint], width: int) -> tuple[Hint, ...]:
    """The hints that fit into `width` cells, in their order; those in the middle go first."""
    order = sorted(range(len(hints)), key=lambda index: _rank(hints[index], index))
    room = width - 1 + _GAP
    kept: set[int] = set()
    for index in order:
        needed = _width(hints[index])
        if needed > room:
            break
        room -= needed
        kept.add(index)
    return tuple(hint for index, hint in enumerate(hints) if index in kept)


def _rank(hint: Hint, index: int) -> tuple[int, int]:
    word = hint[1]
    if word in _ALWAYS:
        return 0, _ALWAYS.index(word)
    if word == "command":
        return 1, 1  # it finds whatever has gone from the bar
    return (1, 0) if index == 0 else (2, index)


def _width(hint: Hint) -> int:
    return cell_len(hint[0]) + 1 + cell_len(hint[1]) + _GAP
