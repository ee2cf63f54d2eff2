"""Every limit in one table; each is changed here as anywhere else."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from batchdeck.core.model.limit import GLOBAL
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import Column
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.limit_rows import limit_names_shown, limit_row
from batchdeck.tui.screens.acting import bindings_of
from batchdeck.tui.screens.changing import ChangingScreen
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.headline import Headline
from batchdeck.tui.widgets.limit_panel import LimitPanel
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("limit", 9),
    Column("of", 14, most=32),
    Column("used", 17),
    Column("behind it", 9, drop=1, right=True),
    Column("changed", 10, drop=3),
    Column("by", 12, drop=2, most=40),
)
_LEFT_OUT = ("filter", "limits", "copy", "next_part", "previous_part")


class LimitTable(VirtualTable[str]):
    """The limits by their full names."""

    def called(self, key: str) -> str:
        return key


class LimitsScreen(ChangingScreen):
    AUTO_FOCUS = "LimitTable"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of((Focus.LIMITS,), *_LEFT_OUT)

    def compose(self) -> ComposeResult:
        yield Headline(id="headline").data_bind(LimitsScreen.scene, LimitsScreen.change)
        yield LimitTable(_COLUMNS, id="limits")
        yield LimitPanel().data_bind(LimitsScreen.scene, LimitsScreen.change)
        yield ActionBar(id="bar")

    def on_mount(self) -> None:
        self.query_one(LimitTable).border_title = Content("limits")
        self._show()
        self._show_hints()

    @on(VirtualTable.Moved)
    def _show_hints(self) -> None:
        """The deck's own limit cannot be taken away, so that key is not offered there."""
        can_go = self.query_one(LimitTable).cursor_key != GLOBAL
        self.query_one(ActionBar).hints = (
            ("esc", "back"),
            self.hint("limit.raise", "change"),
            ("0-9", "set"),
            *((self.hint("limit.none", "none"),) if can_go else ()),
            *self.hints_for(Focus.LIMITS, "limit.raise", *_LEFT_OUT)[1:],
        )

    def watch_scene(self) -> None:
        if self.ready:
            self._show()

    def watch_change(self, change: LimitChange | None) -> None:
        super().watch_change(change)
        self._show()

    def _show(self) -> None:
        names = tuple(limit_names_shown(self.scene.view))
        self.query_one(LimitTable).show(names, self._row_of)

    def _row_of(self, name: str) -> Row:
        return limit_row(name, self.scene.view, self.scene.now_ms, self.change)

    def begin(self, name: str, value: int | None) -> None:
        """A change that was asked for by name: the cursor goes there, and enter applies it."""
        self.query_one(LimitTable).move_to(name)
        self.change_limit(name, lambda change, view: change.to(view, value))

    def standpoint(self) -> Standpoint:
        return Standpoint(
            view=self.scene.view,
            focus=Focus.LIMITS,
            limit=self.query_one(LimitTable).cursor_key,
        )

    def go_back(self) -> None:
        self.dismiss()
