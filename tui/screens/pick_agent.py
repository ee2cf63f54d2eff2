"""One agent of all, with how busy each is."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.agent_table import AgentTable
from batchdeck.tui.widgets.virtual_table import VirtualTable


class PickAgentScreen(LiveModal[str | None]):
    AUTO_FOCUS = "AgentTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "pick", "Choose", show=False),
        Binding("escape", "dismiss", "Back", show=False),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(self._title)
            dialog.border_subtitle = Content("enter chooses · esc back")
            yield AgentTable().data_bind(PickAgentScreen.scene)

    @on(VirtualTable.Opened)
    def action_pick(self) -> None:
        table = self.query_one(AgentTable)
        agent = table.cursor_key
        if table.slip is not None:
            self.deck_app.say(table.slip)
        elif agent is not None:
            self.finish(agent)
