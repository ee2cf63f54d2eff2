"""What agents may always do without asking; each can be taken back here."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from batchdeck.core.commands import RevokeAllowance
from batchdeck.tui.present.cells import Cell, Row
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.durations import ago
from batchdeck.tui.present.whole import last_width, lines_needed, whole_lines
from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("agent", 10, most=24),
    Column("by", 6, drop=2, most=16),
    Column("given", 10, drop=1),
    Column("may always", 20, most=ANY_WIDTH),
)
_WIDTH, _FRAME = 100, 4
"""Of the dialog as the style sheet has it: its width, and what the frame takes of it."""
_MOST_LINES = 4
_KEYS = "x take it back: the agent asks again · esc back"


class AllowanceTable(VirtualTable[int]):
    """Allowances by their number."""


class AllowancesScreen(LiveModal[None]):
    AUTO_FOCUS = "AllowanceTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", show=False),
        Binding("x", "revoke", "Take it back", show=False),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content("permissions")
            yield AllowanceTable(_COLUMNS, id="allowances")
            yield Static(id="whole", markup=False)
            yield Static(_KEYS, id="words", markup=False)

    def on_mount(self) -> None:
        self.query_one(AllowanceTable).empty_words = "every agent asks each time"
        self._show()

    def watch_scene(self) -> None:
        if self.ready:
            self._show()

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
        self.query_one(AllowanceTable).show(list(self.scene.view.allowances), self._row_of)
        self._show_whole()

    @on(VirtualTable.Moved)
    def _show_whole(self) -> None:
        """All that the one under the cursor covers, where its row cuts that."""
        room = min(_WIDTH, self.size.width) - _FRAME
        texts = [allowance.covers for allowance in self.scene.view.allowances.values()]
        lines = lines_needed(texts, last_width(_COLUMNS, room), room, _MOST_LINES)
        number = self.query_one(AllowanceTable).cursor_key
        chosen = None if number is None else self.scene.view.allowances.get(number)
        place = self.query_one("#whole", Static)
        content = Content(whole_lines("" if chosen is None else chosen.covers, room, lines))
        place.display = bool(lines)
        if place.content != content:
            place.update(content)

    def _row_of(self, number: int) -> Row | None:
        allowance = self.scene.view.allowances.get(number)
        if allowance is None:
            return None
        return (
            Cell(allowance.agent),
            Cell(allowance.by),
            Cell(ago(self.scene.now_ms - allowance.at_ms)),
            Cell(allowance.covers),
        )

    def action_revoke(self) -> None:
        table = self.query_one(AllowanceTable)
        if table.slip is not None:
            self.deck_app.say(table.slip)
            return
        number = table.cursor_key
        allowance = None if number is None else self.scene.view.allowances.get(number)
        if allowance is None:
            return
        done = f"{allowance.agent} asks again: {allowance.covers}"
        self.deck_app.carry_out(RevokeAllowance(allowance=allowance.id), done)
