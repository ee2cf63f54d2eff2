"""A reckoning over all turns that rests in proportion to what it costs."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, perf_counter
from typing import Generic, TypeVar

from batchdeck.core.view import DeckView

Result = TypeVar("Result")

_REST = 20
"""It rests so many times as long as it took."""


class Sparing(Generic[Result]):
    """Gives the latest result; a newer view is reckoned with when the last one has paid off."""

    def __init__(self, reckon: Callable[[DeckView], Result]) -> None:
        self._reckon = reckon
        self._view: DeckView | None = None
        self._result: Result | None = None
        self._due = 0.0

    def of(self, view: DeckView) -> Result:
        """The result for `view`, or for one that is a little older."""
        if self._result is None or (view is not self._view and monotonic() >= self._due):
            started = perf_counter()
            self._result, self._view = self._reckon(view), view
            self._due = monotonic() + _REST * (perf_counter() - started)
        return self._result
