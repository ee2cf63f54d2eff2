"""Queued turns that go later than their priority says, kept up to date by what changed."""

from __future__ import annotations

from collections.abc import Collection

from batchdeck.core.model.line import lines_of
from batchdeck.core.model.turn import Turn
from batchdeck.core.rules.order import ServiceKey, key_of, keys_behind, uneven_lines
from batchdeck.core.view import DeckView


class Behind:
    """Whom their lines keep back; what is not in the lines of a changed turn costs nothing."""

    def __init__(self) -> None:
        self._keys: dict[int, ServiceKey] = {}
        self._uneven: set[str] = set()

    def key_of(self, turn: Turn) -> ServiceKey:
        """What sorts a queued turn in the order of service."""
        return key_of(turn, self._keys)

    def update(self, before: DeckView, view: DeckView, changed: Collection[int]) -> set[int]:
        """Takes a newer view over.

        Args:
            changed: Ids of the turns that are new, changed or gone.

        Returns:
            Those whose key is another one now, though nothing else of them need have changed.
        """
        touched = {line for turn in changed for line in _lines(turn, before) | _lines(turn, view)}
        if not touched:
            return set()
        self._uneven = (self._uneven - touched) | uneven_lines(view, touched)
        old, self._keys = self._keys, keys_behind(view, self._uneven)
        known = old.keys() | self._keys.keys()
        return {turn for turn in known if old.get(turn) != self._keys.get(turn)}


def _lines(turn_id: int, view: DeckView) -> set[str]:
    """The lines of several in which a turn stands."""
    turn = view.turns.get(turn_id) if view.in_order else None
    return set() if turn is None else {line for line in lines_of(turn) if line in view.in_order}
