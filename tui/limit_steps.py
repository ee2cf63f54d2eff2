"""Steps on limits that were asked for and are not in the view yet."""

from __future__ import annotations

from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.view import DeckView


class LimitSteps:
    """Lets quick steps add up: the second `+` starts from what the first has asked for."""

    def __init__(self) -> None:
        self._asked: dict[str, list[int | None]] = {}

    def next(self, view: DeckView, name: str, by: int) -> int | str:
        """The number one step on, or in words why there is none."""
        now = self._now(view, name)
        if now is None and by > 0:
            return f"{_words(name)} has no limit to raise; - gives it one"
        if now is None:
            # the first number of a limit that had none: what runs now stays within it
            return max(1, view.running_by.get(name, 0))
        if now + by < 0:
            return f"{_words(name)} is closed already"
        return now + by

    def begin(self, view: DeckView, name: str, value: int | None) -> int | None:
        """Notes that a number was asked for, and returns the one before it."""
        before = self._now(view, name)
        self._asked.setdefault(name, []).append(value)
        return before

    def end(self, name: str, value: int | None) -> None:
        """Notes that the deck has answered."""
        asked = self._asked.get(name, [])
        if value in asked:
            asked.remove(value)
        if not asked:
            self._asked.pop(name, None)

    def _now(self, view: DeckView, name: str) -> int | None:
        asked = self._asked.get(name)
        return asked[-1] if asked else effective_limit(view, name)


def _words(name: str) -> str:
    return name.replace(":", " ")
