"""A table whose rows can be marked, so that one key is about several of them."""

from __future__ import annotations

from collections.abc import Sequence

from batchdeck.tui.present.columns import Column
from batchdeck.tui.widgets.virtual_table import Key, VirtualTable

_SIGNS = {(False, False): " ", (True, False): "›", (False, True): "•", (True, True): "»"}
"""At the edge of a row: whether the cursor is there, and whether it is marked."""


class MarkingTable(VirtualTable[Key]):
    """Marks count while their rows are shown: what nobody sees is not acted upon."""

    def __init__(self, columns: Sequence[Column], *, id: str | None = None) -> None:
        super().__init__(columns, id=id)
        self._marks: set[Key] = set()

    @property
    def marked(self) -> tuple[Key, ...]:
        """The marked rows, in the order in which they stand."""
        return tuple(key for key in self.keys if key in self._marks) if self._marks else ()

    def mark(self) -> None:
        """Marks the row under the cursor or takes its mark away, and goes on to the next."""
        if self.cursor_key is not None:
            self._set(self._marks ^ {self.cursor_key})
            self.action_cursor(1)

    def mark_all(self) -> None:
        """Marks every row that passes the filter; where all are marked, none."""
        self._set(set() if len(self.marked) == len(self.keys) else set(self.keys))

    def unmark(self) -> bool:
        """Takes all marks away; whether there was one."""
        had_one = bool(self.marked)
        if had_one:
            self._set(set())
        return had_one

    def marks_changed(self) -> None:
        """Told when other rows are marked."""

    def _set(self, marks: set[Key]) -> None:
        self._marks = marks
        self.marks_changed()
        self.refresh()

    def sign_of(self, key: Key, at_cursor: bool) -> str:
        return _SIGNS[at_cursor and self.has_focus, key in self._marks]
