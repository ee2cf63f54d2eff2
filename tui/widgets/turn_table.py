"""The turns: what runs, what waits and for what, what has ended."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive

from batchdeck.core.model.turn import Turn
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.filtering import Filter, read_filter
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene
from batchdeck.tui.present.turn_order import TurnOrder
from batchdeck.tui.present.turns import turn_row
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("", 1),
    Column("turn", 5),
    Column("task", 8),
    Column("agent", 10, drop=2),
    Column("state", 9, drop=4),
    Column("lane", 11, drop=5),
    Column("time", 7, drop=1),
    Column("what", 28, most=ANY_WIDTH),
)


class TurnTable(VirtualTable[int]):
    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    filter_text: reactive[str] = reactive("", repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(_COLUMNS, id=id)
        self._order = TurnOrder()
        self._ids: list[int] = []
        self.filter = Filter()
        self.border_title = Content("turns")

    @property
    def turn(self) -> Turn | None:
        """The turn under the cursor."""
        return None if self.cursor_key is None else self.scene.view.turns.get(self.cursor_key)

    def watch_scene(self, scene: Scene) -> None:
        if self._order.update(scene.view):
            self._ids = self._order.ids
        self._renew()

    def watch_filter_text(self) -> None:
        self.filter = read_filter(self.filter_text)
        self._order.refilter(self.filter)
        self._ids = self._order.ids
        self.empty_words = (
            "no turn passes the filter (esc clears it)" if self.filter else "no turns yet"
        )
        self._renew()

    def _renew(self) -> None:
        drawn_from = self.scene

        def row_of(turn_id: int) -> Row:
            turn = drawn_from.view.turns.get(turn_id)
            return () if turn is None else turn_row(turn, drawn_from)

        self.show(self._ids, row_of)
        self._retitle(len(self.scene.view.turns))

    def _retitle(self, total: int) -> None:
        """Says which turns are shown, and of how many."""
        title = Content("turns" + (f" ─ {self.filter.text}" if self.filter else ""))
        if self.border_title != title.markup:
            self.border_title = title
        count = Content(f"{len(self._ids)} of {total}" if self.filter else str(total))
        if self.border_subtitle != count.markup:
            self.border_subtitle = count
