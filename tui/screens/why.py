"""Why a turn waits: every gate, who holds it, and what would free it."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from batchdeck.core.model.gate import Holder
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.fitting import fit, inert
from batchdeck.tui.present.gates import WhyLine
from batchdeck.tui.present.why import Why, holder_row, why
from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.virtual_table import VirtualTable

_GATE, _MOST_WORDS, _HOLDERS = 12, 48, 52
_COLUMNS = (
    Column("held by", 7),
    Column("task", 8, drop=2),
    Column("agent", 9, drop=3),
    Column("for", 7),
    Column("what", 16, most=ANY_WIDTH, drop=1),
)


class HolderTable(VirtualTable[int]):
    """The holders by their turns."""


class WhyScreen(LiveModal[None]):
    AUTO_FOCUS = "HolderTable"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-middling")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,w", "dismiss", "Back", show=False),
        Binding("enter", "open_holder", "Open the holder", show=False),
    ]

    def __init__(self, turn_id: int) -> None:
        super().__init__()
        self._turn_id = turn_id
        self._shown: Why | None = None
        self._holders: dict[int, Holder] = {}

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", id="dialog", can_focus=False):
            yield Static(id="gates", markup=False)
            yield HolderTable(_COLUMNS, id="holders")
            yield Static(id="ending", markup=False)

    def on_mount(self) -> None:
        self._show()

    def watch_scene(self) -> None:
        if self.ready:
            self._show()

    def _show(self) -> None:
        turn = self.scene.view.turns.get(self._turn_id)
        gone = Why(f"#{self._turn_id}", ending="This turn is not known any more.")
        shown = gone if turn is None else why(turn, self.scene)
        self._holders = {holder.turn: holder for holder in shown.holders}
        table = self.query_one(HolderTable)
        table.display = bool(self._holders)
        table.show(tuple(self._holders), self._row_of)
        if shown == self._shown:
            return
        self._shown = shown
        dialog = self.query_one("#dialog")
        dialog.border_title = Content(inert(shown.title, 60))
        dialog.border_subtitle = Content(
            "enter opens the holder · esc back" if self._holders else "esc back"
        )
        gates = self.query_one("#gates", Static)
        gates.display = bool(shown.lines)
        words = max((min(cell_len(line.words), _MOST_WORDS) for line in shown.lines), default=0)
        gates.update(Content("\n").join(_painted(line, words) for line in shown.lines))
        ending = Content("\n").join(Content(inert(line)) for line in shown.ending.split("\n"))
        self.query_one("#ending", Static).update(ending.stylize("bold"))

    def _row_of(self, turn_id: int) -> Row | None:
        holder = self._holders.get(turn_id)
        return None if holder is None else holder_row(holder, self.scene)

    @on(VirtualTable.Opened)
    def action_open_holder(self) -> None:
        turn = self.query_one(HolderTable).cursor_key
        self.dismiss()
        if turn is not None and self._holders:
            self.deck_app.open_turn(turn)


def _painted(line: WhyLine, width: int) -> Content:
    """The words of all gates as wide as the longest, so that their holders stand in a column."""
    sign, tone = ("✓", "done") if line.open else ("✗", "alert")
    words = fit(line.words, width)
    text = f" {fit(line.gate, _GATE)} {words}  {inert(line.holders, _HOLDERS)}"
    return Content.assemble((sign, f"$status-{tone}"), (text.rstrip(), "" if line.open else "bold"))
