"""Limits that were asked for and that the deck has not answered yet."""

from __future__ import annotations

from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.view import DeckView


class AskedLimits:
    """Lets quick changes add up: the second one starts from what the first has asked for."""

    def __init__(self) -> None:
        self._asked: dict[str, list[int | None]] = {}

    def now(self, view: DeckView, name: str) -> int | None:
        """The number that will be in force when the deck has answered everything."""
        asked = self._asked.get(name)
        return asked[-1] if asked else effective_limit(view, name)

    def begin(self, name: str, value: int | None) -> None:
        """Notes that a number was asked for."""
        self._asked.setdefault(name, []).append(value)

    def end(self, name: str, value: int | None) -> None:
        """Notes that the deck has answered."""
        asked = self._asked.get(name, [])
        if value in asked:
            asked.remove(value)
        if not asked:
            self._asked.pop(name, None)
