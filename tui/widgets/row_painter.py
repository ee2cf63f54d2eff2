"""A table's rows as strips: which columns fit, in which style, drawn once while they stay equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip

from batchdeck.tui.present.cells import Cell, Row
from batchdeck.tui.present.columns import GAP, Column, Placed, place_columns
from batchdeck.tui.present.fitting import fit

_EDGE = 1
"""Cells at the left edge, where cursor and mark stand."""

FindStyle = Callable[[str, bool], Style]
"""The style of a part by its name; with True only what it says itself."""


class RowPainter:
    """Paints at the width it was given last."""

    def __init__(self, columns: Sequence[Column], find_style: FindStyle) -> None:
        self._columns = tuple(columns)
        self._find_style = find_style
        self._placed: tuple[Placed, ...] = ()
        self._width = 0
        self._strips: LRUCache[tuple[Any, ...], Strip] = LRUCache(1024)
        self._styles: dict[str, Style] = {}

    def fit_into(self, width: int) -> None:
        """Chooses the columns for a width."""
        if self._width != width:
            self._width = width
            self._placed = place_columns(self._columns, width - _EDGE)

    def forget(self) -> None:
        """The styles have changed."""
        self._styles.clear()
        self._strips.clear()

    def header(self) -> Strip:
        labels = [
            fit(self._columns[index].label, width, right=self._columns[index].right)
            for index, width in self._placed
        ]
        text = fit(" " * _EDGE + (" " * GAP).join(labels), self._width)
        return Strip([Segment(text, self._style("header"))], self._width)

    def words(self, words: str, tone: str) -> Strip:
        """A sentence in place of rows."""
        style = self._style("") + self._style(tone, only_itself=True)
        return Strip([Segment(fit(f" {words}", self._width), style)])

    def blank(self) -> Strip:
        return Strip.blank(self._width, self._style(""))

    def row(self, row: Row, sign: str, at_cursor: bool, has_focus: bool) -> Strip:
        """One row; `sign` stands at its edge."""
        known = (row, sign, at_cursor, has_focus, self._placed)
        strip = self._strips.get(known)
        if strip is None:
            segments = self._segments(row, sign, at_cursor)
            strip = Strip(segments).adjust_cell_length(self._width, segments[0].style)
            strip = strip.simplify()  # each change of style is some twenty bytes on the wire
            self._strips[known] = strip
        return strip

    def _segments(self, row: Row, sign: str, at_cursor: bool) -> list[Segment]:
        plain = self._style("cursor" if at_cursor else "")
        segments = [Segment(sign, plain)]
        for number, (index, width) in enumerate(self._placed):
            if number:
                segments.append(Segment(" " * GAP, plain))
            cell = row[index] if index < len(row) else Cell("")
            style = plain
            if cell.tone and not at_cursor:
                style = plain + self._style(cell.tone, only_itself=True)
            text = fit(cell.text, width, right=self._columns[index].right)
            segments.append(Segment(text, style))
        return segments

    def _style(self, name: str, only_itself: bool = False) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = self._styles[name] = self._find_style(name, only_itself)
        return style
