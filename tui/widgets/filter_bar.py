"""The line in which a filter is written; the turns follow each letter."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class FilterBar(Input):
    """Enter keeps what is written, escape goes back to what was there before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Back", show=False),
        Binding("tab,shift+tab", "submit", "Done", show=False),
    ]

    class Written(Message):
        """The filter reads differently."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Done(Message):
        """Nothing more is written here."""

    def __init__(self, example: str, *, id: str | None = None) -> None:
        super().__init__(
            id=id,
            compact=True,
            select_on_focus=False,
            placeholder=example,
        )
        self.cursor_blink = False
        self._before = ""

    def open(self, text: str) -> None:
        """Lets the operator write, from what holds now."""
        self._before = text
        self.value = text
        self.cursor_position = len(text)
        self.focus()

    @on(Input.Changed)
    def _tell(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Written(event.value))

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Done())

    def action_give_up(self) -> None:
        self.post_message(self.Written(self._before))
        self.post_message(self.Done())
