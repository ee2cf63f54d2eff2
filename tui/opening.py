"""Which screen shows what: opened over the others, with the latest scene."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from textual.screen import Screen
from textual.widgets import Input

from batchdeck.core.model.agent import Agent
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.tui.action import Focus, Standpoint, why_off
from batchdeck.tui.actions import BY_ID
from batchdeck.tui.commanding import CommandingApp
from batchdeck.tui.drafts import of_edit
from batchdeck.tui.present.addressee import of_agent, of_turn
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.screens.agent_form import AgentFormScreen
from batchdeck.tui.screens.allowances import AllowancesScreen
from batchdeck.tui.screens.compose import ComposeScreen
from batchdeck.tui.screens.confirm import ConfirmScreen
from batchdeck.tui.screens.deck import DeckScreen
from batchdeck.tui.screens.events import EventsScreen
from batchdeck.tui.screens.folders import FoldersScreen
from batchdeck.tui.screens.help import HelpScreen
from batchdeck.tui.screens.items import ItemsScreen
from batchdeck.tui.screens.limits import LimitsScreen
from batchdeck.tui.screens.live import Live
from batchdeck.tui.screens.matrix import MatrixScreen
from batchdeck.tui.screens.needs import NeedsScreen
from batchdeck.tui.screens.queue import QueueScreen
from batchdeck.tui.screens.turn import TurnScreen
from batchdeck.tui.screens.why import WhyScreen

_BY_ACTION: dict[str, Callable[[], Screen[Any]]] = {
    "needs": NeedsScreen,
    "events": EventsScreen,
    "limits": LimitsScreen,
    "queue": QueueScreen,
    "folders": FoldersScreen,
    "matrix": MatrixScreen,
    "items": ItemsScreen,
    "permissions": AllowancesScreen,
}


class OpeningApp(CommandingApp):
    """Opens screens."""

    @property
    @abstractmethod
    def in_past(self) -> bool:
        """Whether a moment that is gone is shown."""

    @abstractmethod
    def scene(self) -> Scene:
        """The view as it stands at this moment."""

    def open(self, screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
        """Puts a screen over the others, with the latest scene."""
        if isinstance(screen, Live):
            screen.set_reactive(type(screen).scene, self.scene())
        self.push_screen(screen, then)

    def on_command_palette_opened(self) -> None:
        """A cursor that blinks would write to the terminal for as long as it is open."""
        for find in self.screen.query(Input):
            find.cursor_blink = False

    def open_named(self, action_id: str) -> None:
        """The screen that an action is named for."""
        self.open(_BY_ACTION[action_id]())

    def write_to(self, agent: str, turn: Turn | None = None) -> None:
        addressee = of_agent(agent) if turn is None else of_turn(turn, self.scene())
        if turn is not None and turn.state is not TurnState.QUEUED:
            # what was to become of its text can only be said behind it now
            self.drafts.move(of_edit(turn.id), addressee.to)
        self.open(ComposeScreen(addressee, self.drafts.of(addressee.to)))

    def save_drafts(self) -> None:
        """Writes the drafts down, and says where that is not possible."""
        self.drafts.save()
        if words := self.drafts.trouble():
            self.mention(words, Tone.ALERT)

    def drop_draft(self, what: str) -> None:
        """Forgets a draft that has been sent or given up."""
        self.drafts.note(what, "")
        self.save_drafts()

    def open_agent(self, agent: Agent | None) -> None:
        """The form of an agent; None: of a new one."""
        self.open(AgentFormScreen(agent))

    def open_turn(self, turn_id: int) -> None:
        self.open(TurnScreen(turn_id))

    def open_why(self, turn_id: int) -> None:
        self.open(WhyScreen(turn_id))

    def show_turns(self, filter_text: str) -> None:
        """The turns that pass a filter, on the deck's own screen, which every other one leaves."""
        while len(self.screen_stack) > 1:
            self.pop_screen()
        deck = self.screen_stack[0]
        if isinstance(deck, DeckScreen):
            deck.set_filter(filter_text)
            deck.go_to(Focus.TURNS)

    def why_not_limit(self, name: str, value: int | None) -> str | None:
        """Why a limit cannot be changed now, in one line; None: it can. `name` is the full one."""
        at = Standpoint(
            view=self.scene().view,
            focus=Focus.LIMITS,
            limit=name,
            read_only=self.settings.read_only,
            past=self.in_past,
        )
        return why_off(BY_ID["limit.none" if value is None else "limit.type"], at)

    def begin_limit(self, name: str, value: int | None) -> None:
        """Shows what a limit would start; enter on that screen applies it."""
        reason = self.why_not_limit(name, value)
        if reason is not None:
            self.say(reason, Tone.ALERT)
            return
        there = self.screen
        screen = there if isinstance(there, LimitsScreen) else LimitsScreen()
        if screen is not there:
            self.open(screen)
        screen.call_after_refresh(screen.begin, name, value)

    def open_help(self, focus: Focus) -> None:
        self.open(HelpScreen(focus))

    def ask_first(self, question: str, detail: str, word: str, do: Callable[[], object]) -> None:
        """Does something only after a person has said yes."""

        def then(sure: bool | None) -> None:
            if sure:
                do()

        self.open(ConfirmScreen(question, detail, word), then)
