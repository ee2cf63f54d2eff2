"""What differs between two views, found by identity."""

from __future__ import annotations

from collections.abc import Mapping

from batchdeck.core.view import DeckView


def changed_turns(before: DeckView, view: DeckView) -> set[int]:
    """Ids of the turns that are new, changed or gone."""
    old, new = before.turns, view.turns
    if old is new:
        return set()
    gone = set() if len(old) == 0 else old.keys() - new.keys()
    return changed_ids(old, new) | gone


def changed_ids(old: Mapping[int, object], new: Mapping[int, object]) -> set[int]:
    """Keys whose value is new or another object."""
    if old is new:
        return set()
    known = old.get
    return {key for key, value in new.items() if value is not known(key)}
