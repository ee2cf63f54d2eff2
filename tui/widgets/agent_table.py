"""The agents: slots, queue, tally and what each has brought to an end in the last minute."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive

from batchdeck.tui.present.agents import BAR_WIDTH, agent_rows
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import Column
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("agent", 9, most=24),
    Column("kind", 7, drop=4),
    Column("running", 17),
    Column("queued", 6, right=True),
    Column("done", 4, drop=2, right=True),
    Column("failed", 6, drop=3, right=True),
    Column("last minute", BAR_WIDTH, drop=5),
    Column("used", 14, drop=6, most=40),
)


class AgentTable(VirtualTable[str]):
    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    change: reactive[LimitChange | None] = reactive(None, repaint=False)
    """The limit that is being changed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(_COLUMNS, id=id)
        self._rows: dict[str, Row] = {}
        self.border_title = Content("agents")

    def called(self, key: str) -> str:
        return key

    def watch_scene(self) -> None:
        self._show()

    def watch_change(self) -> None:
        self._show()

    def _show(self) -> None:
        scene = self.scene
        self._rows = agent_rows(scene.view, scene.now_ms, scene.bars, self.change)
        self.show(tuple(self._rows), self._rows.get)
