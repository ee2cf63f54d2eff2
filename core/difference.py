"""What differs between two views: told by the later one, or found by identity."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from batchdeck.core.view import DeckView, ViewNews

KEPT_NEWS = 32
"""Views that a view tells the changes of."""


class RowNews:
    """Of one kind of row: what has changed since the last view, and in the views before it."""

    def __init__(self) -> None:
        self._touched: set[int] = set()
        self._told: deque[tuple[int, frozenset[int]]] = deque(maxlen=KEPT_NEWS)

    def touch(self, row: int) -> None:
        """A row is new, changed or gone."""
        self._touched.add(row)

    def publish(self, revision: int) -> None:
        """What has changed belongs to this view."""
        self._told.append((revision, frozenset(self._touched)))
        self._touched.clear()

    @property
    def told(self) -> ViewNews:
        return tuple(self._told)


def changed_turns(before: DeckView, view: DeckView) -> set[int]:
    """Ids of the turns that are new, changed or gone."""
    return _changed(before.turns, view.turns, before.revision, view.turn_news)


def changed_tasks(before: DeckView, view: DeckView) -> set[int]:
    """Ids of the tasks that are new, changed or gone."""
    return _changed(before.tasks, view.tasks, before.revision, view.task_news)


def _changed(
    old: Mapping[int, object], new: Mapping[int, object], revision: int, news: ViewNews
) -> set[int]:
    if old is new:
        return set()
    if not old:
        return set(new)
    told = _told_since(revision, news)
    return changed_ids(old, new) | (old.keys() - new.keys()) if told is None else told


def _told_since(revision: int, news: ViewNews) -> set[int] | None:
    """What the view itself says has changed; None: it does not reach back so far."""
    revisions = [known for known, _ in news]
    if revision not in revisions:
        return None
    since = news[revisions.index(revision) + 1 :]
    return set().union(*(ids for _, ids in since))


def changed_ids(old: Mapping[int, object], new: Mapping[int, object]) -> set[int]:
    """Keys whose value is new or another object."""
    if old is new:
        return set()
    known = old.get
    return {key for key, value in new.items() if value is not known(key)}
