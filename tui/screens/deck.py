"""The deck's own screen: what runs, what waits and for what, and what needs the operator."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget

from batchdeck.core.model.limit import GLOBAL, agent_limit, status_limit
from batchdeck.tui.action import DECK_PARTS, Focus, Standpoint
from batchdeck.tui.present.statuses import StatusRow
from batchdeck.tui.screens.acting import bindings_of
from batchdeck.tui.screens.changing import ChangingScreen
from batchdeck.tui.screens.filtering import TurnsScreen
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.agent_table import AgentTable
from batchdeck.tui.widgets.headline import Headline
from batchdeck.tui.widgets.limit_panel import LimitPanel
from batchdeck.tui.widgets.output_pane import OutputPane
from batchdeck.tui.widgets.status_table import StatusTable
from batchdeck.tui.widgets.turn_table import TurnTable
from batchdeck.tui.widgets.virtual_table import VirtualTable


class DeckScreen(ChangingScreen, TurnsScreen):
    """The parts stand side by side where there is room; else the one with the focus is shown."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (104, "-wide")]  # noqa: RUF012
    AUTO_FOCUS = "TurnTable"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(DECK_PARTS)

    def compose(self) -> ComposeResult:
        yield Headline(id="headline").data_bind(DeckScreen.scene, DeckScreen.change)
        with Horizontal(id="tables"):
            yield StatusTable(id="status").data_bind(DeckScreen.scene, DeckScreen.change)
            yield AgentTable(id="agents").data_bind(DeckScreen.scene, DeckScreen.change)
        yield TurnTable(id="turns").data_bind(DeckScreen.scene)
        yield OutputPane(self.deck_app.deck.output, id="output").data_bind(DeckScreen.scene)
        yield from self.compose_filter()
        yield LimitPanel().data_bind(DeckScreen.scene, DeckScreen.change)
        yield ActionBar(id="bar")

    def on_mount(self) -> None:
        self._show_part(Focus.TURNS)

    def on_resize(self) -> None:
        narrow = self.has_class("-narrow")
        status, agents = self.query_one(StatusTable), self.query_one(AgentTable)
        status.border_title = Content("status" + " ─ tab: agents" * narrow)
        agents.border_title = Content("agents" + " ─ shift+tab: status" * narrow)

    def on_descendant_focus(self) -> None:
        self._show_part(self.part)

    @on(VirtualTable.Moved, "#turns")
    def _show_output(self) -> None:
        self.query_one(OutputPane).turn_id = self.query_one(TurnTable).cursor_key

    @on(VirtualTable.Opened)
    def _open_row(self) -> None:
        self.action_do("open")

    # where the operator is

    @property
    def part(self) -> Focus:
        """The part that has the focus."""
        focused = "" if self.focused is None else self.focused.id
        return next((part for part in DECK_PARTS if part == focused), Focus.TURNS)

    def standpoint(self) -> Standpoint:
        turns, status = self.query_one(TurnTable), self.query_one(StatusTable).row
        agent = self.query_one(AgentTable).cursor_key
        return Standpoint(
            view=self.scene.view,
            focus=self.part,
            turn=turns.turn,
            marked=turns.marked_turns if self.part is Focus.TURNS else (),
            agent=agent,
            status=status,
            limit=_limit_of(self.part, agent, status),
            filter=turns.filter,
        )

    def table_of_keys(self) -> VirtualTable[Any] | None:
        if self.part is Focus.OUTPUT:
            return self.query_one(TurnTable)
        return super().table_of_keys()

    def go_to(self, part: Focus) -> None:
        self._show_part(part)
        self.query_one(f"#{part}", Widget).focus()

    def go_on(self, steps: int) -> None:
        # the output is left out where there is no room for it; a turn's own screen has it
        output = self.query_one(OutputPane).display
        parts = [part for part in DECK_PARTS if output or part is not Focus.OUTPUT]
        here = parts.index(self.part) if self.part in parts else 0
        self.go_to(parts[(here + steps) % len(parts)])

    def leave_screen(self) -> None:
        self.go_to(Focus.TURNS)

    def filter_done(self) -> None:
        self.go_to(Focus.TURNS)

    def _show_part(self, part: Focus) -> None:
        """Sets the classes by which the style sheet folds away what does not fit."""
        upper = part in (Focus.STATUS, Focus.AGENTS)
        self.set_class(upper, "-at-tables")
        if upper:
            self.set_class(part is Focus.AGENTS, "-agents-first")
        self.query_one(ActionBar).hints = self.hints_for(part)


def _limit_of(part: Focus, agent: str | None, status: StatusRow | None) -> str | None:
    """The full name of the limit under the cursor."""
    if part is Focus.AGENTS:
        return None if agent is None else agent_limit(agent)
    if part is Focus.STATUS:
        if status is None or status.batch is None:
            return None
        return status_limit(status.batch, status.status)
    return GLOBAL
