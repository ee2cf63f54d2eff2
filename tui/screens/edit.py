"""The text of a queued turn, held while it is edited, so that it is not sent under the hands."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from batchdeck.core.commands import EditTurn, Receipt
from batchdeck.core.model.turn import TurnState
from batchdeck.core.text import clean_text
from batchdeck.tui.drafts import of_edit
from batchdeck.tui.present.fitting import inert
from batchdeck.tui.screens.compose import Draft
from batchdeck.tui.screens.live import LiveModal

_KEYS = "enter save · ctrl+j new line · esc leave it as it was"
_DRAFT_KEYS = "your draft · ctrl+z as it is queued · enter save · esc keep it"


class EditScreen(LiveModal[None]):
    """Args:
    releases: The hold was put for the editing, and goes with it.
    kept: What was written before and not saved.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Leave it", show=False, priority=True)
    ]

    def __init__(self, turn_id: int, name: str, text: str, releases: bool, kept: str = "") -> None:
        super().__init__()
        self._turn_id, self._name, self._text = turn_id, name, text
        self._releases, self._kept = releases, kept

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -boundary") as dialog:
            dialog.border_title = Content(inert(f"editing #{self._turn_id} {self._name}", 60))
            dialog.border_subtitle = Content("held while you edit")
            draft = Draft(self._text, id="draft", compact=True, highlight_cursor_line=False)
            draft.cursor_blink = False
            yield draft
            yield Static(_DRAFT_KEYS if self._kept else _KEYS, id="words", markup=False)

    def on_mount(self) -> None:
        draft = self.query_one(Draft)
        if self._kept:
            # as something typed, so that it can be taken back
            draft.replace(self._kept, draft.document.start, draft.document.end)
        draft.move_cursor(draft.document.end)

    def watch_scene(self) -> None:
        if self.ready and not self._is_queued:
            self.say("It is not queued any more: somebody released or cancelled it.")

    @on(TextArea.Changed)
    def _remember(self) -> None:
        text = self.query_one(Draft).text
        own = "" if text.strip() == self._text.strip() else text
        self.deck_app.drafts.note(of_edit(self._turn_id), own)

    @on(Draft.Sent)
    def _save(self) -> None:
        text = clean_text(self.query_one(Draft).text).strip()
        if self.just_opened and text == (self._kept or self._text).strip():
            return  # an enter that follows letters is meant for them, however quick they were
        if not text:
            self.say("The text is empty; x in the queue deletes the turn.")
        elif text == self._text.strip():
            self.action_give_up()
        else:
            self.send(EditTurn(turn=self._turn_id, text=text), self._saved)

    def _saved(self, receipt: Receipt) -> None:
        self._close(f"#{self._turn_id} is saved, and goes in its turn")
        self.deck_app.drop_draft(of_edit(self._turn_id))

    def action_give_up(self) -> None:
        if not self.under_way:
            self._close(f"#{self._turn_id} is left as it was{self._kept_words()}")
            self.deck_app.save_drafts()

    def _kept_words(self) -> str:
        if not self.deck_app.drafts.of(of_edit(self._turn_id)):
            return ""
        key = "enter" if self._is_queued else "m"
        return f", your text is kept as a draft: {key} on it takes it up again"

    @property
    def _is_queued(self) -> bool:
        turn = self.scene.view.turns.get(self._turn_id)
        return turn is not None and turn.state is TurnState.QUEUED

    def _close(self, words: str) -> None:
        if self._releases:
            self.deck_app.let_go(self._turn_id, lambda receipt: self._tell(receipt, words))
        else:
            self.deck_app.say(f"{words}; it stays held")
        self.finish(None)

    def _tell(self, receipt: Receipt, words: str) -> None:
        self.deck_app.tell(receipt, words)
