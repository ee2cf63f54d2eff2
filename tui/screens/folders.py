"""The folders: who occupies what, and who waits for it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from batchdeck.tui.action import Focus
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.folder_tree import Place, folder_tree, place_row
from batchdeck.tui.present.sparing import Sparing
from batchdeck.tui.screens.acting import bindings_of
from batchdeck.tui.screens.table import NO_FILTER_NO_MARKS, TableScreen
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("folder", 16, most=48),
    Column("occupied by", 28, most=44),
    Column("waiting", 7, drop=1, right=True),
    Column("for it", 12, drop=2, most=ANY_WIDTH),
)


class FoldersScreen(TableScreen):
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(
        (Focus.TURNS,), *NO_FILTER_NO_MARKS, "folders"
    )
    title_words = "folders"

    def __init__(self) -> None:
        super().__init__()
        self._tree = Sparing(folder_tree)
        self._places: dict[str, Place] = {}

    def table(self) -> VirtualTable[str]:
        table: VirtualTable[str] = VirtualTable(_COLUMNS, id="folders")
        table.empty_words = "no turn works in a folder or waits for one"
        return table

    def show_rows(self) -> None:
        self._places = self._tree.of(self.scene.view)
        self.query_one(VirtualTable).show(tuple(self._places), self._row_of)

    def _row_of(self, key: str) -> Row | None:
        place = self._places.get(key)
        return None if place is None else place_row(place, self.scene)

    def turn_of_row(self) -> int | None:
        place = self._places.get(self.query_one(VirtualTable).cursor_key or "")
        return None if place is None else place.first
