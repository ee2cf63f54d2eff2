"""One choice of a dialog: what it does and the key for it."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Button

from batchdeck.tui.present.fitting import in_lines

_INDENT = "   "
_MOST_LINES = 2


class Choice(Button):
    """A button that names its key."""

    def __init__(self, words: str, key: str, *, id: str, more: str = "") -> None:
        super().__init__(Content(""), id=id, compact=True)
        self._words, self._key, self._more, self._below = words, key, more, 0
        self._relabel()

    def call_it(self, words: str) -> None:
        """Gives it other words."""
        self._words = words
        self._relabel()

    def say_more(self, more: str, below: int = 0) -> None:
        """Explains it otherwise, behind its key, or below it in lines of so many cells."""
        self._more, self._below = more, below
        self._relabel()

    def _relabel(self) -> None:
        parts = [(f"{self._words}  ", ""), (self._key, "$key-colour bold")]
        if self._more and self._below:
            lines = in_lines(self._more, self._below - len(_INDENT), _MOST_LINES)
            parts += [(f"\n{_INDENT}{line}", "not bold") for line in lines]
        elif self._more:
            parts.append((f"   {self._more}", "not bold"))
        label = Content.assemble(*parts)
        if self.label != label:
            self.label = label
