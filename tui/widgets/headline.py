"""The first line of every screen: what the deck does, and what needs the operator."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from batchdeck.tui.present.cells import Cell
from batchdeck.tui.present.fitting import fit
from batchdeck.tui.present.headline import headline
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene


class Headline(Widget, can_focus=True):
    """One line, and below it what is wrong with the engine or was found at the start."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[Cell, ...] = ()
        self._notice = ""

    def render(self) -> Content:
        lines = [Content.assemble(*(_painted(cell) for cell in self._shown))]
        if self._notice:
            lines.append(Content.styled(fit(self._notice, self.size.width), "$status-alert bold"))
        return Content("\n").join(lines)

    def on_resize(self) -> None:
        self._renew()

    def watch_scene(self) -> None:
        self._renew()

    def _renew(self) -> None:
        """Paints only what came out differently."""
        if not self.size.width:
            return
        shown = headline(self.scene.view, self.scene.now_ms, self.size.width, self.scene.bars)
        notice = _notice(self.scene)
        if notice != self._notice:
            self._notice = notice
            self.set_class(bool(notice), "-with-notice")
            self.refresh(layout=True)
        if shown != self._shown:
            self._shown = shown
            self.refresh()


def _notice(scene: Scene) -> str:
    if scene.view.fault:
        return f" fault: {scene.view.fault}"
    words = scene.view.banner or scene.remark
    return f" {words}" if words else ""


def _painted(cell: Cell) -> tuple[str, str]:
    return (cell.text, f"$status-{cell.tone}" if cell.tone else "")
