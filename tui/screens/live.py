"""Screens that stay true while they are open: each shows the app's latest scene."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from batchdeck.core.commands import Command, Receipt
from batchdeck.tui.driver import FlowMixin
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.receipts import refused_words
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene

if TYPE_CHECKING:
    from batchdeck.tui.app import DeckApp

Result = TypeVar("Result")

ECHO_SECONDS = 0.3
"""How long after a dialog has opened or closed a second enter was still meant for what was there
before."""


def is_up(screen: Screen[Any]) -> bool:
    """Whether its widgets are there: composed, and not being taken down."""
    return screen.is_mounted and screen.is_attached and not (screen._pruning or screen._closing)


def is_echo(since: float) -> bool:
    """Whether so little time has passed since a moment (`time.monotonic`) that an enter was
    pressed for what was shown before it."""
    return monotonic() - since < ECHO_SECONDS


class Live(FlowMixin):
    """What is given every new scene: a screen, or a dialog over one."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)

    @property
    def ready(self) -> bool:
        """Whether its widgets can be told something."""
        return is_up(cast("Screen[Any]", self))

    @property
    def deck_app(self) -> DeckApp:
        return cast("DeckApp", cast("Screen[Any]", self).app)


class LiveScreen(Live, Screen[Result]):
    """A screen that stays true, laid out by its height."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-middling"), (30, "-tall")]  # noqa: RUF012


class LiveModal(Live, ModalScreen[Result]):
    """The same for a dialog over another screen, which stays live below it.

    It may go while a command of its own is under way: what becomes of that is told all the same.
    """

    under_way = False
    """A command of this dialog has been sent, and its receipt is not there yet."""
    _finished: tuple[Result] | None = None
    _opened_at = 0.0

    def on_mount(self) -> None:
        self._opened_at = monotonic()

    @property
    def just_opened(self) -> bool:
        """Whether nobody can have read it yet, so that an enter was meant for what was before."""
        return is_echo(self._opened_at)

    def finish(self, result: Result) -> None:
        """Closes with a result; one that lies under another dialog does so when it is on top."""
        self._finished = (result,)
        self.deck_app.finished_at = monotonic()
        if self.is_current:
            self.dismiss(result)

    def on_screen_resume(self) -> None:
        if self._finished is not None and self.is_current:
            self.dismiss(self._finished[0])

    def send(
        self,
        command: Command,
        accepted: Callable[[Receipt], None],
        refused: Callable[[Receipt], None] | None = None,
        *,
        can_undo: bool = True,
    ) -> None:
        """Has a command carried out, one at a time.

        Args:
            accepted: Told the receipt, also where the dialog has gone meanwhile.
            refused: Told the receipt where the dialog is still there; by default it says why.
        """
        if self.under_way or self._finished is not None:
            return
        self.under_way = True

        def answered(receipt: Receipt) -> None:
            self.under_way = False
            if receipt.accepted:
                accepted(receipt)
            elif refused is None or not self.ready:
                self.say(refused_words(receipt))
            else:
                refused(receipt)

        self.deck_app.submit(command, answered, can_undo)

    def say(self, words: str) -> None:
        """One line in the dialog; where that has gone, in the action bar below it."""
        if self.ready:
            self.query_one("#words", Static).update(Content(words))
        else:
            self.deck_app.say(words, Tone.ALERT)
