"""The order in which turns are shown, kept up to date by what changed and never sorted anew."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Any

from batchdeck.core.difference import changed_ids, changed_turns
from batchdeck.core.model.turn import LIVE, Turn, TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.present.behind import Behind
from batchdeck.tui.present.filtering import Filter
from batchdeck.tui.present.needs import Need
from batchdeck.tui.present.sorting import Sort, sort_key

_Key = tuple[Any, ...]
"""Ends with the turn's id."""
_NEEDS, _LIVE, _QUEUED, _ENDED = range(4)


class TurnOrder:
    """What needs the operator first, then what runs, what waits in order of service, what ended.

    A view is compared with the one before by identity, so that a change costs what changed and
    one walk over the rows.
    """

    def __init__(self) -> None:
        self._view = DeckView()
        self._filter = Filter()
        self._sort = Sort.NEED
        self._urgent: frozenset[int] = frozenset()
        self._behind = Behind()
        self._key_of: dict[int, _Key] = {}
        self._sorted: list[_Key] = []

    def __len__(self) -> int:
        return len(self._sorted)

    @property
    def ids(self) -> list[int]:
        """The turns that pass the filter, in order."""
        return [key[-1] for key in self._sorted]

    def refilter(self, chosen: Filter, sort: Sort = Sort.NEED) -> None:
        """Shows other turns of the same view, or in another order."""
        self._filter, self._sort = chosen, sort
        self._key_of.clear()
        self._sorted.clear()
        self._build()

    def update(self, view: DeckView, needs: Iterable[Need]) -> bool:
        """Takes a newer view over, and what needs a person in it.

        Returns whether the order or the choice of turns changed.
        """
        before, self._view = self._view, view
        urgent = frozenset(need.turn for need in needs if need.turn and need.urgent)
        touched = urgent ^ self._urgent
        self._urgent = urgent
        changed = changed_turns(before, view)
        changed |= touched | self._behind.update(before, view, changed)
        if not before.turns:
            self._build()
            return bool(self._sorted)
        moved = False
        for turn_id in changed | self._refiltered(before):
            moved |= self._renew(turn_id, view.turns.get(turn_id))
        return moved

    def _build(self) -> None:
        """All at once: sorting is quicker than putting in one by one."""
        for turn in self._view.turns.values():
            key = self._wanted(turn)
            if key is not None:
                self._key_of[turn.id] = key
        self._sorted = sorted(self._key_of.values())

    def _refiltered(self, before: DeckView) -> set[int]:
        """Turns whose task changed, where a filter may ask for its status."""
        tasks = changed_ids(before.tasks, self._view.tasks) if self._filter else set()
        if not tasks:
            return set()
        return {turn.id for turn in self._view.turns.values() if turn.task in tasks}

    def _renew(self, turn_id: int, new: Turn | None) -> bool:
        key = self._key_of.get(turn_id)
        wanted = self._wanted(new)
        if key == wanted:
            return False
        if key is not None:
            _remove(self._sorted, key)
            del self._key_of[turn_id]
        if new is not None and wanted is not None:
            self._put(new)
        return True

    def _put(self, turn: Turn) -> None:
        key = self._wanted(turn)
        if key is not None:
            self._key_of[turn.id] = key
            insort(self._sorted, key)

    def _wanted(self, turn: Turn | None) -> _Key | None:
        if turn is None or not self._passes(turn):
            return None
        return (*sort_key(turn, self._view, self._sort), *self._usual(turn))

    def _usual(self, turn: Turn) -> _Key:
        if turn.id in self._urgent:
            return (_NEEDS, 0, 0, turn.id)
        if turn.state in LIVE or turn.state is TurnState.WAITING:
            return (_LIVE, turn.started_ms or 0, 0, turn.id)
        if turn.state is TurnState.QUEUED:
            return (_QUEUED, *self._behind.key_of(turn))
        return (_ENDED, -(turn.ended_ms or 0), -turn.id, turn.id)

    def _passes(self, turn: Turn) -> bool:
        if not self._filter:
            return True
        task = None if turn.task is None else self._view.tasks.get(turn.task)
        return self._filter.passes(turn, task)


def _remove(ordered: list[Any], key: Any) -> None:
    del ordered[bisect_left(ordered, key)]
