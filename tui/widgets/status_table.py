"""The statuses: slots by lane against the lane's limit, what waits, and the tasks there now."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive

from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import Column
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene
from batchdeck.tui.present.statuses import StatusRow, resting_words, status_rows
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("status", 11, most=24),
    Column("running", 15, most=16),
    Column("queued", 6, right=True),
    Column("now", 3, drop=1, right=True),
)


class StatusTable(VirtualTable[str]):
    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    change: reactive[LimitChange | None] = reactive(None, repaint=False)
    """The limit that is being changed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(_COLUMNS, id=id)
        self._rows: dict[str, StatusRow] = {}
        self.border_title = Content("status")

    @property
    def row(self) -> StatusRow | None:
        """The row under the cursor."""
        return None if self.cursor_key is None else self._rows.get(self.cursor_key)

    def called(self, key: str) -> str:
        return key

    def watch_scene(self, before: Scene, scene: Scene) -> None:
        if self._rows and _same(before.view, scene.view):
            return
        self._show()
        resting = Content(resting_words(scene.view))
        if self.border_subtitle != resting.markup:
            self.border_subtitle = resting

    def watch_change(self) -> None:
        self._show()

    def _show(self) -> None:
        self._rows = status_rows(self.scene.view, self.change)
        self.show(tuple(self._rows), self._row_of)

    def _row_of(self, key: str) -> Row | None:
        row = self._rows.get(key)
        return None if row is None else row.cells


def _same(before: DeckView, view: DeckView) -> bool:
    """Whether nothing that the rows are drawn from has changed."""
    return before is view or all(
        getattr(before, name) == getattr(view, name)
        for name in ("running_by", "queued_by", "limits", "task_counts", "batches")
    )
