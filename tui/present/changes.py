"""What differs between two views, found by identity."""

from __future__ import annotations

from collections.abc import Mapping

from batchdeck.core.view import DeckView


def changed_turns(before: DeckView, view: DeckView) -> set[int]:
    """Ids of the turns that are new, changed or gone."""
    old, new = before.turns, view.turns
    if old is new:
        return set()
    if not old:
        return set(new)
    told = _told_since(before.revision, view)
    return changed_ids(old, new) | (old.keys() - new.keys()) if told is None else told


def _told_since(revision: int, view: DeckView) -> set[int] | None:
    """What the view itself says has changed; None: it does not reach back so far."""
    revisions = [known for known, _ in view.turn_news]
    if revision not in revisions:
        return None
    since = view.turn_news[revisions.index(revision) + 1 :]
    return set().union(*(ids for _, ids in since))


def changed_ids(old: Mapping[int, object], new: Mapping[int, object]) -> set[int]:
    """Keys whose value is new or another object."""
    if old is new:
        return set()
    known = old.get
    return {key for key, value in new.items() if value is not known(key)}
