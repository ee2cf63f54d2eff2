"""The first line of every screen: what the deck does, and what needs the operator."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from batchdeck.tui.present.cells import Cell
from batchdeck.tui.present.fitting import fit
from batchdeck.tui.present.headline import SLOTS, headline, held_words
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene


class Headline(Widget, can_focus=True):
    """One line, and below it what is wrong with the engine or was found at the start."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    change: reactive[LimitChange | None] = reactive(None, repaint=False)
    """The limit that is being changed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[Cell, ...] = ()
        self._notice = ""

    def render(self) -> Content:
        lines = [Content.assemble(*self._first_line())]
        if self._notice:
            lines.append(Content.styled(fit(self._notice, self.size.width), "$status-alert bold"))
        return Content("\n").join(lines)

    def _first_line(self) -> Iterator[tuple[str, str]]:
        """With the focus, the deck's own limit stands out: that is what + and - change here."""
        for number, (text, tone) in enumerate(self._shown):
            style = f"$status-{tone}" if tone else ""
            if not self.has_focus:
                yield text, style
            elif number == 0:
                yield "›", style
            else:
                yield text, f"{style} reverse" if text.startswith(SLOTS) else style

    def on_resize(self) -> None:
        self._renew()

    def watch_scene(self) -> None:
        self._renew()

    def watch_change(self) -> None:
        self._renew()

    def _renew(self) -> None:
        """Paints only what came out differently."""
        if not self.size.width:
            return
        shown = headline(self.scene, self.size.width, self.change)
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
    words = " · ".join(part for part in (held_words(scene.view), scene.view.banner) if part)
    return f" {words or scene.remark}" if words or scene.remark else ""
