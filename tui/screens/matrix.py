"""Status × agent: where the work runs and where it piles up."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import Column
from batchdeck.tui.present.matrix import LIMIT, TOTAL, Matrix, matrix, matrix_keys, matrix_row
from batchdeck.tui.present.sparing import Sparing
from batchdeck.tui.present.statuses import LANES
from batchdeck.tui.screens.acting import bindings_of
from batchdeck.tui.screens.table import NO_FILTER_NO_MARKS, TableScreen
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("agent", 10, most=28),
    *(Column(lane, max(7, len(lane)), drop=number + 2) for number, lane in enumerate(LANES)),
    Column("messages", 8, drop=1),
    Column("all", 13),
)


class MatrixScreen(TableScreen):
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(
        (Focus.AGENTS,), *NO_FILTER_NO_MARKS, "matrix", "limit.raise", "limit.lower",
        "limit.type", "limit.none",
    )  # fmt: skip
    part = Focus.AGENTS
    title_words = "status × agent, running/queued"

    def __init__(self) -> None:
        super().__init__()
        self._reckoned = Sparing(matrix)
        self._cells: Matrix = {}

    def table(self) -> VirtualTable[str]:
        return VirtualTable(_COLUMNS, id="matrix")

    def show_rows(self) -> None:
        self._cells = self._reckoned.of(self.scene.view)
        self.query_one(VirtualTable).show(matrix_keys(self.scene.view), self._row_of)

    def _row_of(self, key: str) -> Row:
        return matrix_row(key, self._cells, self.scene)

    def standpoint(self) -> Standpoint:
        """The keys are about the agent under the cursor."""
        key = self.query_one(VirtualTable).cursor_key
        return Standpoint(
            view=self.scene.view,
            focus=Focus.AGENTS,
            agent=None if key in (LIMIT, TOTAL) else key,
        )

    def set_filter(self, text: str) -> None:
        """Opening an agent shows its turns, on the deck's own screen."""
        self.deck_app.show_turns(text)
