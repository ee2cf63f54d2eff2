"""The queue in the order of service, and what is done to it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType

from batchdeck.core.commands import PutHold, Receipt
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.hold import UNSAVED, for_editing
from batchdeck.core.model.turn import Turn
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.drafts import of_edit
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.queue_rows import QUEUE_COLUMNS, queue_row
from batchdeck.tui.present.receipts import refused_words
from batchdeck.tui.screens.acting import bindings_of
from batchdeck.tui.screens.edit import EditScreen
from batchdeck.tui.screens.filtering import TurnsScreen
from batchdeck.tui.screens.live import is_up
from batchdeck.tui.turn_deeds import is_held
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.headline import Headline
from batchdeck.tui.widgets.turn_table import TurnTable
from batchdeck.tui.widgets.virtual_table import VirtualTable

_PARTS = frozenset({Focus.QUEUE})
_LEFT_OUT = ("queue", "next_part", "previous_part", "retry")


class QueueScreen(TurnsScreen):
    AUTO_FOCUS = "TurnTable"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(_PARTS, *_LEFT_OUT)

    _opens = False
    """A text is about to be opened."""

    def compose(self) -> ComposeResult:
        yield Headline(id="headline").data_bind(QueueScreen.scene)
        yield TurnTable(
            QUEUE_COLUMNS, queue_row, title="queue", always="state:queued", id="turns"
        ).data_bind(QueueScreen.scene)
        yield from self.compose_filter()
        yield ActionBar(id="bar")

    def on_mount(self) -> None:
        self.query_one(TurnTable).empty_words = "nothing is queued"
        self.query_one(ActionBar).hints = (
            ("esc", "back"),
            self.hint("open", "edit"),
            self.hint("queue.up", "move"),
            self.hint("mark"),
            *self.hints_for(Focus.QUEUE, "open", *_LEFT_OUT),
        )

    @on(VirtualTable.Opened)
    def _open_row(self) -> None:
        self.action_do("open")

    def standpoint(self) -> Standpoint:
        table = self.query_one(TurnTable)
        return Standpoint(
            view=self.scene.view,
            focus=Focus.QUEUE,
            turn=table.turn,
            marked=table.marked_turns,
            filter=table.filter,
        )

    def expect_order(self) -> None:
        table = self.query_one(TurnTable)
        table.expect_order()
        table.stay_on_row()

    # editing

    def edit(self, turn: Turn) -> None:
        """Holds a turn, and opens its text; one at a time, however often enter is pressed."""
        if not self._opens:
            self._opens = True
            self._edit(turn)

    @work(group="edit")
    async def _edit(self, turn: Turn) -> None:
        app = self.deck_app
        try:
            text = await app.text_of(turn)
        except BatchdeckError as error:
            self._opens = False
            app.say(f"edit: {error.message}", Tone.ALERT)
            return
        if turn.held_by != UNSAVED and is_held(turn, self.scene.view):
            self._open_text(turn, text, releases=False)
            return
        hold = PutHold(what=f"turn:{turn.id}")
        hold = replace(hold, by=for_editing(hold.by))
        app.edited.add(turn.id)

        def then(receipt: Receipt) -> None:
            self._opens = False
            if not receipt.accepted:
                app.edited.discard(turn.id)
                app.say(refused_words(receipt), Tone.ALERT)
            elif is_up(self):
                self._open_text(turn, text, releases=True)
            else:
                app.let_go(turn.id, lambda _: None)

        app.submit(hold, then, can_undo=False)

    def _open_text(self, turn: Turn, text: str, *, releases: bool) -> None:
        self._opens = False
        name = self.scene.name_of(turn)
        kept = self.deck_app.drafts.of(of_edit(turn.id))
        self.deck_app.open(EditScreen(turn.id, name, text, releases=releases, kept=kept))
