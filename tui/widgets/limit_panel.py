"""What a limit that is being changed would do, over the rows and above the action bar."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from batchdeck.tui.present.fitting import fit
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene
from batchdeck.tui.present.what_if import WhatIf, what_if


class LimitPanel(Widget):
    """Shown while `change` is set; a remark says why a step was refused."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    change: reactive[LimitChange | None] = reactive(None, repaint=False)
    remark: reactive[str] = reactive("", repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[WhatIf, str] | None = None
        self.display = False

    def render(self) -> Content:
        if self._shown is None:
            return Content("")
        words, remark = self._shown
        width = self.size.width
        lines = [
            Content.styled(fit(f" {words.title}", width), "bold"),
            Content(fit(f" {words.starts}", width)),
            Content(fit(f" {words.waits}", width)),
        ]
        if remark:
            lines.append(Content.styled(fit(f" {remark}", width), "$status-alert bold"))
        return Content("\n").join(lines)

    def on_resize(self) -> None:
        self._renew()

    def watch_scene(self) -> None:
        self._renew()

    def watch_change(self) -> None:
        self.remark = "" if self.change is None else self.change.remark
        self._renew()
        self.display = self.change is not None

    def watch_remark(self) -> None:
        self.set_class(bool(self.remark), "-with-remark")
        self._renew()

    def _renew(self) -> None:
        """Paints only what came out differently."""
        if self.change is None:
            self._shown = None
            return
        room = (self.size.width or self.screen.size.width) - 1
        shown = (what_if(self.change, self.scene, room), self.remark)
        if shown != self._shown:
            self._shown = shown
            self.refresh()
