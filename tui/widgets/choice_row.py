"""Choices beside each other, or below each other where it is narrow."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import ItemGrid


class ChoiceRow(ItemGrid):
    """Arrows go from choice to choice."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,down", "app.focus_next", show=False),
        Binding("left,up", "app.focus_previous", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(min_column_width=21, classes="choices")
