"""The last line: what can be done here, or for some seconds what just happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.fitting import fit
from batchdeck.tui.present.hints import Hint, fitting_hints

NOTICE_SECONDS = 6.0


class Notice(NamedTuple):
    text: str
    tone: Tone


class ActionBar(Widget):
    """Keys with their words, as many as fit; a notice takes their place for a while."""

    hints: reactive[tuple[Hint, ...]] = reactive((), repaint=False)
    instead: reactive[tuple[Hint, ...]] = reactive((), repaint=False)
    """Keys that count alone for as long as something is open."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._said: Notice | None = None
        self._mentioned: Notice | None = None
        self._timer: Timer | None = None

    @property
    def _shown(self) -> Notice | None:
        return self._said or self._mentioned

    def say(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """Shows one line until the next one, or for a few seconds."""
        self._said = Notice(text, tone)
        self._show()

    def mention(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """Shows one line that no key asked for, once the one that is shown has had its time."""
        self._mentioned = Notice(text, tone)
        if self._said is None:
            self._show()

    def fall_silent(self) -> None:
        """Takes away the line that is shown: for one that waits, or for the keys."""
        if self._said is None:
            self._mentioned = None
        self._said = None
        self._show()

    def _show(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._shown is not None:
            self._timer = self.set_timer(NOTICE_SECONDS, self.fall_silent)
        self.refresh()

    def render(self) -> Content:
        notice = self._shown
        if notice is None:
            return _hint_line(self.instead or self.hints, self.size.width)
        style = f"$status-{notice.tone} bold" if notice.tone else "bold"
        return Content.styled(fit(f" {notice.text}", self.size.width), style)

    def watch_hints(self, before: object, hints: object) -> None:
        if before != hints and self._shown is None:
            self.refresh()

    def watch_instead(self, before: object, hints: object) -> None:
        if before != hints:
            self.fall_silent()


def _hint_line(hints: Sequence[Hint], width: int) -> Content:
    parts: list[tuple[str, str]] = [(" ", "")]
    for key, word in fitting_hints(hints, width):
        parts += [(key, "$key-colour bold"), (f" {word}  ", "")]
    return Content.assemble(*parts)
