"""The last hour of one agent, for those who would rather look than read."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from batchdeck.tui.present.charts import Chart, agent_charts
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene

_AROUND = 38
"""Cells beside the bars."""
_MOST = 60


class Charts(Widget):
    """Painted again only where a bar came out differently."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    agent: reactive[str] = reactive("", repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[Chart, ...] = ()

    def render(self) -> Content:
        lines = (
            Content.assemble(
                (f" {chart.label:<8}", ""),
                (chart.bars, f"$status-{chart.tone}"),
                (f"  {chart.words}", "$status-muted"),
            )
            for chart in self._shown
        )
        return Content("\n").join(lines)

    def on_resize(self) -> None:
        self._renew()

    def watch_agent(self) -> None:
        self._renew()

    def watch_scene(self) -> None:
        self._renew()

    def _renew(self) -> None:
        width = min(_MOST, self.size.width - _AROUND)
        if width < 8 or not self.agent or not self.display or not self.scene.bars:
            return
        shown = agent_charts(self.scene.view, self.agent, self.scene.now_ms, width)
        if shown != self._shown:
            self._shown = shown
            self.refresh()
