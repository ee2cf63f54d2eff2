"""Queued turns that go later than their priority says, kept up to date by what changed."""

from __future__ import annotations

from collections.abc import Collection

from batchdeck.core.model.line import lines_of
from batchdeck.core.model.turn import Turn
from batchdeck.core.rules.order import ServiceKey, key_of, keys_behind
from batchdeck.core.view import DeckView


class Behind:
    """Whom their lines keep back; worked out anew only if a line of several changed."""

    def __init__(self) -> None:
        self._keys: dict[int, ServiceKey] = {}

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
        if not any(_is_in_line(turn, before) or _is_in_line(turn, view) for turn in changed):
            return set()
        old, self._keys = self._keys, keys_behind(view)
        known = old.keys() | self._keys.keys()
        return {turn for turn in known if old.get(turn) != self._keys.get(turn)}


def _is_in_line(turn_id: int, view: DeckView) -> bool:
    turn = view.turns.get(turn_id) if view.in_order else None
    return turn is not None and any(line in view.in_order for line in lines_of(turn))
