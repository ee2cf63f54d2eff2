"""The items of each foreach: where each is in its steps, what it wrote, and the barrier."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from batchdeck.core.model.limit import items_limit
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.items import ItemKey, item_row, overview
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.sparing import Sparing
from batchdeck.tui.screens.acting import bindings_of
from batchdeck.tui.screens.changing import ChangingScreen
from batchdeck.tui.screens.table import NO_FILTER_NO_MARKS
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.headline import Headline
from batchdeck.tui.widgets.limit_panel import LimitPanel
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("item", 16, most=36),
    Column("steps", 7, most=12),
    Column("state", 11),
    Column("agent", 11, drop=2),
    Column("time", 7, drop=1),
    Column("wrote", 22, most=ANY_WIDTH),
)


class ItemTable(VirtualTable[ItemKey]):
    """Batches, and below each its items."""


class ItemsScreen(ChangingScreen):
    AUTO_FOCUS = "ItemTable"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(
        (Focus.ITEMS,), *NO_FILTER_NO_MARKS, "items"
    )

    def __init__(self) -> None:
        super().__init__()
        self._reckoned = Sparing(overview)

    def compose(self) -> ComposeResult:
        yield Headline(id="headline").data_bind(ItemsScreen.scene, ItemsScreen.change)
        table = ItemTable(_COLUMNS, id="items")
        table.empty_words = "no batch here has a foreach"
        yield table
        yield LimitPanel().data_bind(ItemsScreen.scene, ItemsScreen.change)
        yield ActionBar(id="bar")

    def on_mount(self) -> None:
        self.query_one(ItemTable).border_title = Content("items")
        left_out = (*NO_FILTER_NO_MARKS, "leave", "queue")
        self.query_one(ActionBar).hints = (("esc", "back"), *self.hints_for(Focus.ITEMS, *left_out))
        self._show()

    def watch_scene(self) -> None:
        if self.ready:
            self._show()

    def watch_change(self, change: LimitChange | None) -> None:
        super().watch_change(change)
        self._show()

    def _show(self) -> None:
        rows = self._reckoned.of(self.scene.view)
        self.query_one(ItemTable).show(rows.keys, self._row_of)

    def _row_of(self, key: ItemKey) -> Row | None:
        return item_row(key, self._reckoned.of(self.scene.view).counts, self.scene, self.change)

    @on(VirtualTable.Opened)
    def _open_row(self) -> None:
        self.action_do("open")

    def standpoint(self) -> Standpoint:
        """The keys are about the item's latest turn; the limit is that of its foreach."""
        view, key = self.scene.view, self.query_one(ItemTable).cursor_key
        task = None if key is None else view.tasks.get(key.task)
        return Standpoint(
            view=view,
            focus=Focus.ITEMS,
            turn=None if task is None or task.turn is None else view.turns.get(task.turn),
            limit=None if key is None else items_limit(key.batch),
        )

    def go_back(self) -> None:
        self.dismiss()
