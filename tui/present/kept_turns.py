"""The turns that something is true of, kept from view to view, as looking through all is slow."""

from __future__ import annotations

from collections.abc import Callable

from batchdeck.core.difference import changed_turns
from batchdeck.core.model.turn import Turn
from batchdeck.core.view import DeckView


class KeptTurns:
    """Args:
    wanted: What must be true of a turn; it may look at nothing else.
    """

    def __init__(self, wanted: Callable[[Turn], bool]) -> None:
        self._wanted = wanted
        self._view = DeckView()
        self._ids: set[int] = set()

    def of(self, view: DeckView) -> set[int]:
        """Their ids in that view; a later view costs what changed in it."""
        before = self._view if self._view.deck == view.deck else DeckView()
        if not before.turns:
            self._ids = set()
        for turn_id in changed_turns(before, view):
            turn = view.turns.get(turn_id)
            if turn is not None and self._wanted(turn):
                self._ids.add(turn_id)
            else:
                self._ids.discard(turn_id)
        self._view = view
        return self._ids
