"""The first line of every screen: what the deck does, and what needs the operator."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from batchdeck.tui.present.cells import Cell
from batchdeck.tui.present.fitting import fit
from batchdeck.tui.present.headline import SLOTS, headline
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.notice import notice_lines
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene


class Headline(Widget, can_focus=True):
    """One line, and below it in a few what is wrong with the engine or was found at the start."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    change: reactive[LimitChange | None] = reactive(None, repaint=False)
    """The limit that is being changed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[Cell, ...] = ()
        self._notice: tuple[str, ...] = ()

    def render(self) -> Content:
        lines = [Content.assemble(*self._first_line())]
        for line in self._notice:
            lines.append(Content.styled(fit(line, self.size.width), "$status-alert bold"))
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
        notice = notice_lines(self.scene, self.size.width, self.screen.size.height)
        if notice != self._notice:
            for lines, name in _CLASSES.items():
                self.set_class(len(notice) == lines, name)
            is_as_high = len(notice) == len(self._notice)
            self._notice = notice
            self.refresh(layout=not is_as_high)
        if shown != self._shown:
            self._shown = shown
            self.refresh()


_CLASSES = {1: "-with-notice", 2: "-with-two-lines", 3: "-with-three-lines"}
"""By how many lines the notice has."""
