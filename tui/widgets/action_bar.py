"""The last line: what can be done here, or for some seconds what just happened."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.fitting import fit
from batchdeck.tui.present.hints import Hint, fitting_hints

NOTICE_SECONDS = 6.0


class ActionBar(Widget):
    """Keys with their words, as many as fit; a notice takes their place for a while."""

    hints: reactive[tuple[Hint, ...]] = reactive((), repaint=False)
    instead: reactive[tuple[Hint, ...]] = reactive((), repaint=False)
    """Keys that count alone for as long as something is open."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._notice = ""
        self._tone = Tone.PLAIN
        self._timer: Timer | None = None

    def say(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """Shows one line until the next one, or for a few seconds."""
        self._notice, self._tone = text, tone
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(NOTICE_SECONDS, self.fall_silent)
        self.refresh()

    def fall_silent(self) -> None:
        """Shows the keys again."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._notice = ""
        self.refresh()

    def render(self) -> Content:
        if self._notice:
            style = f"$status-{self._tone} bold" if self._tone else "bold"
            return Content.styled(fit(f" {self._notice}", self.size.width), style)
        return _hint_line(self.instead or self.hints, self.size.width)

    def watch_hints(self, before: object, hints: object) -> None:
        if before != hints and not self._notice:
            self.refresh()

    def watch_instead(self, before: object, hints: object) -> None:
        if before != hints:
            self.fall_silent()


def _hint_line(hints: Sequence[Hint], width: int) -> Content:
    parts: list[tuple[str, str]] = [(" ", "")]
    for key, word in fitting_hints(hints, width):
        parts += [(key, "$key-colour bold"), (f" {word}  ", "")]
    return Content.assemble(*parts)
