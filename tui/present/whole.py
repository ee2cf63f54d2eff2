"""The whole text of a row whose last cell is cut, in lines below its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest

from rich.cells import cell_len

from batchdeck.tui.present.columns import Column, place_columns
from batchdeck.tui.present.fitting import in_lines, inert

_LOOKED_AT = 5
"""Of the longest texts; a shorter one does not need more lines."""


def last_width(columns: Sequence[Column], room: int) -> int:
    """How wide the last column is in a table of `room` cells, the edge for its cursor included."""
    placed = place_columns(columns, room - 1)
    return placed[-1].width if placed and placed[-1].number == len(columns) - 1 else 0


def lines_needed(texts: Iterable[str], cell: int, room: int, most: int) -> int:
    """How many lines of `room` cells to keep free, so that nothing moves from row to row.

    Args:
        cell: How much of a text its row shows. Where no text is longer, no line is needed.
    """
    if room < 1 or most < 1:
        return 0
    longest = nlargest(_LOOKED_AT, map(inert, texts), key=cell_len)
    cut = [text for text in longest if cell_len(text) > cell]
    return max((len(in_lines(text, room, most)) for text in cut), default=0)


def whole_lines(text: str, room: int, lines: int) -> str:
    """The text in exactly so many lines."""
    shown = in_lines(text, room, lines) if lines else []
    return "\n".join([*shown, *[""] * (lines - len(shown))])
