"""A screen that is one table below the headline, with the registry's keys."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.content import Content

from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.screens.acting import ActingScreen
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.headline import Headline
from batchdeck.tui.widgets.virtual_table import VirtualTable

NO_FILTER_NO_MARKS = ("mark", "mark.all", "sort", "filter", "next_part", "previous_part")
"""Actions that a plain table has no use for."""


class TableScreen(ActingScreen):
    """The keys are about a turn that the row under the cursor stands for."""

    AUTO_FOCUS = "VirtualTable"
    part = Focus.TURNS
    """What the keys are about."""

    @abstractmethod
    def table(self) -> VirtualTable[Any]:
        """The table, new."""

    @abstractmethod
    def show_rows(self) -> None:
        """Gives the table its rows, from the scene."""

    def turn_of_row(self) -> int | None:
        """The turn that the row under the cursor stands for."""
        return None

    @property
    @abstractmethod
    def title_words(self) -> str: ...

    def compose(self) -> ComposeResult:
        yield Headline(id="headline").data_bind(TableScreen.scene)
        yield self.table()
        yield ActionBar(id="bar")

    def on_mount(self) -> None:
        self.query_one(VirtualTable).border_title = Content(self.title_words)
        left_out = [a for a in (*NO_FILTER_NO_MARKS, "leave", "queue") if not self.offers(a)]
        self.query_one(ActionBar).hints = (("esc", "back"), *self.hints_for(self.part, *left_out))
        self.show_rows()

    def watch_scene(self) -> None:
        if self.ready:
            self.show_rows()

    @on(VirtualTable.Opened)
    def _open_row(self) -> None:
        self.action_do("open")

    def standpoint(self) -> Standpoint:
        turn = self.turn_of_row()
        return Standpoint(
            view=self.scene.view,
            focus=Focus.TURNS,
            turn=None if turn is None else self.scene.view.turns.get(turn),
        )

    def go_back(self) -> None:
        self.dismiss()
