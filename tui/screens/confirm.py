"""A question before something is ended; the answer is no unless it is given."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Static

from batchdeck.tui.present.fitting import inert
from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.choice import Choice
from batchdeck.tui.widgets.choice_row import ChoiceRow

_REPEAT_SECONDS = 0.7
"""A key that comes sooner after the one before may be the same press."""


class ConfirmScreen(LiveModal[bool]):
    """The key that opened it may answer yes too (`again`): pressed once more, but not held down."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("n,escape", "answer(False)", "No", show=False),
    ]

    def __init__(self, question: str, detail: str, word: str, again: str = "") -> None:
        super().__init__()
        self._question, self._detail, self._word = question, detail, word
        self._pressed_at = monotonic()
        """When the key that opened it came last."""
        if again:
            self._bindings.bind(again, "answer_again", "Yes", show=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -danger") as dialog:
            dialog.border_title = Content(inert(self._question, 60))
            if self._detail:
                yield Static(Content(inert(self._detail, 160)), markup=False)
            with ChoiceRow():
                yield Choice("No", "enter", id="no")
                yield Choice(self._word, "y", id="yes")

    def on_mount(self) -> None:
        self.query_one("#no", Choice).focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_answer(event.button.id == "yes")

    def action_answer_again(self) -> None:
        """A key that is held down comes again and again, and first after some 0.6 s."""
        before, self._pressed_at = self._pressed_at, monotonic()
        if self._pressed_at - before >= _REPEAT_SECONDS:
            self.dismiss(True)

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
