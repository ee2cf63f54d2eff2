"""The names that steps of a foreach give their conversations, found by the turns in them."""

from __future__ import annotations

from batchdeck.core.difference import changed_turns
from batchdeck.core.view import DeckView


class NamedConversations:
    """Kept from view to view; a later one costs what changed in it."""

    def __init__(self) -> None:
        self._view = DeckView()
        self._names: dict[int, str] = {}

    def of(self, view: DeckView) -> dict[int, str]:
        """Name by the conversation's id; without a foreach none has one."""
        if not view.items:
            return {}
        before = self._view if self._view.deck == view.deck else DeckView()
        if not before.turns:
            self._names = {}
        for turn_id in changed_turns(before, view):
            turn = view.turns.get(turn_id)
            task = None if turn is None or turn.task is None else view.tasks.get(turn.task)
            if turn is None or task is None or task.shared is None:
                continue
            if turn.conversation != task.conversation:
                self._names[turn.conversation] = task.shared
        self._view = view
        return self._names


named_conversations = NamedConversations()
