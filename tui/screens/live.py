"""Screens that stay true while they are open: each shows the app's latest scene."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.reactive import reactive
from textual.screen import ModalScreen, Screen

from batchdeck.tui.driver import FlowMixin
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene

if TYPE_CHECKING:
    from batchdeck.tui.app import DeckApp

Result = TypeVar("Result")


def is_up(screen: Screen[Any]) -> bool:
    """Whether its widgets are there: composed, and not being taken down."""
    return screen.is_mounted and screen.is_attached and not (screen._pruning or screen._closing)


class LiveScreen(FlowMixin, Screen[Result]):
    """A screen that is given every new scene."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)

    @property
    def ready(self) -> bool:
        """Whether its widgets can be told something."""
        return is_up(self)

    @property
    def deck_app(self) -> DeckApp:
        return cast("DeckApp", self.app)


class LiveModal(FlowMixin, ModalScreen[Result]):
    """The same for a dialog over another screen, which stays live below it."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    _finished: tuple[Result] | None = None

    def finish(self, result: Result) -> None:
        """Closes with a result; one that lies under another dialog does so when it is on top."""
        self._finished = (result,)
        self.deck_app.finished_at = monotonic()
        if self.is_current:
            self.dismiss(result)

    def on_screen_resume(self) -> None:
        if self._finished is not None and self.is_current:
            self.dismiss(self._finished[0])

    @property
    def ready(self) -> bool:
        """Whether its widgets can be told something."""
        return is_up(self)

    @property
    def deck_app(self) -> DeckApp:
        return cast("DeckApp", self.app)
