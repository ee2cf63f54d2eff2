"""The message being written; what is written stays for its conversation until it is sent."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static, TextArea

from batchdeck.core.commands import Receipt, Send
from batchdeck.core.text import clean_text
from batchdeck.tui.present.addressee import Addressee
from batchdeck.tui.present.fitting import inert
from batchdeck.tui.present.receipts import refused_words, sent_words
from batchdeck.tui.screens.busy import KEPT, BusyScreen
from batchdeck.tui.screens.live import LiveModal

_KEYS = "enter send · ctrl+j new line · esc keep as draft"


class Draft(TextArea):
    """A text of several lines that enter sends."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,shift+enter,alt+enter", "break_line", "New line", show=False),
        Binding("ctrl+s,ctrl+enter", "send", "Send", show=False),
    ]

    class Sent(Message):
        """The text is to be sent."""

    async def _on_key(self, event: events.Key) -> None:
        if event.key != "enter":
            return  # a letter: the text area takes it
        event.stop()
        event.prevent_default()
        self.action_send()

    def action_send(self) -> None:
        self.post_message(self.Sent())

    def action_break_line(self) -> None:
        self.insert("\n")


class ComposeScreen(LiveModal[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "keep", "Keep as draft", show=False)]

    def __init__(self, addressee: Addressee, text: str) -> None:
        super().__init__()
        self._addressee = addressee
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(inert(f"to {self._addressee.label}", 60))
            draft = Draft(self._text, id="draft", compact=True, highlight_cursor_line=False)
            draft.cursor_blink = False
            yield draft
            yield Static(_KEYS, id="words", markup=False)

    def on_mount(self) -> None:
        draft = self.query_one(Draft)
        draft.move_cursor(draft.document.end)

    def on_screen_suspend(self) -> None:
        # the busy prompt shows the text; two dialogs over each other only confuse
        self.add_class("-beneath")

    def on_screen_resume(self) -> None:
        self.remove_class("-beneath")

    @on(TextArea.Changed)
    def _remember(self) -> None:
        self.deck_app.drafts.note(self._addressee.to, self.query_one(Draft).text)

    @on(Draft.Sent)
    def _send(self) -> None:
        text = clean_text(self.query_one(Draft).text).strip()
        if not text:
            self.say("There is nothing to send yet.")
        elif not self.under_way:
            self.say("sending …")
            self.send(Send(to=self._addressee.to, text=text), self._done, self._refused)

    def _refused(self, receipt: Receipt) -> None:
        self.say(_KEYS)
        if any(not gate.open for gate in receipt.gates):
            text = clean_text(self.query_one(Draft).text).strip()
            self.deck_app.open(BusyScreen(self._addressee, text, receipt), self._decided)
            return
        self.say(refused_words(receipt))

    def _decided(self, result: Receipt | str | None) -> None:
        if isinstance(result, Receipt):
            self._done(result)
        elif result == KEPT:
            self.action_keep()

    def _done(self, receipt: Receipt) -> None:
        self.finish(None)
        self.deck_app.drop_draft(self._addressee.to)
        self.deck_app.say(sent_words(self._addressee.label, receipt))

    def action_keep(self) -> None:
        if self.under_way:
            return  # what becomes of it is known in a moment
        self.finish(None)
        if self.deck_app.drafts.of(self._addressee.to):
            self.deck_app.say("kept as a draft: m on the same row takes it up again")
        self.deck_app.save_drafts()
