"""The app: holds the latest view, sends commands, and opens the screens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.reactive import reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import WorkerFailed

from batchdeck.core.clock import Clock, SystemClock
from batchdeck.core.commands import Command, Drain, Receipt, SetLimit
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.turn import Turn
from batchdeck.core.port import Deck
from batchdeck.core.view import DeckView
from batchdeck.tui.actions import Action, Focus
from batchdeck.tui.driver import driver_for_terminal
from batchdeck.tui.keys import read_keymap, shown_keys
from batchdeck.tui.leaving import How, Leave
from batchdeck.tui.limit_steps import LimitSteps
from batchdeck.tui.line_filter import ControlFilter
from batchdeck.tui.palette import DeckCommands
from batchdeck.tui.present.addressee import of_agent, of_turn
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.receipts import limit_changed_words, refused_words
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.screens.compose import ComposeScreen
from batchdeck.tui.screens.confirm import ConfirmScreen
from batchdeck.tui.screens.deck import DeckScreen
from batchdeck.tui.screens.events import EventsScreen
from batchdeck.tui.screens.help import HelpScreen
from batchdeck.tui.screens.leave import LeaveScreen
from batchdeck.tui.screens.live import LiveModal, LiveScreen, is_up
from batchdeck.tui.screens.needs import NeedsScreen
from batchdeck.tui.screens.turn import TurnScreen
from batchdeck.tui.screens.why import WhyScreen
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.theming import DEFAULT_VARIABLES, packaged_themes, read_themes

VIEW_REST_SECONDS = 0.1
"""The screen takes a new view at most ten times a second."""

ReportCrash = Callable[[BaseException], "Path | None"]
"""Writes a scrubbed report of a failure, and says where."""


class DeckApp(App[Leave]):
    """The dashboard of a deck that is open.

    Args:
        deck: The one door to the engine, or to another process's engine.
        report_crash: Called once with what ended the app; its path is named on the screen.
    """

    TITLE = "batchdeck"
    CSS_PATH = ["styles/app.tcss", "styles/deck.tcss", "styles/dialogs.tcss"]  # noqa: RUF012
    COMMANDS: ClassVar[set[Any]] = {DeckCommands}
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Leave", show=False, priority=True),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]

    view: reactive[DeckView] = reactive(DeckView(), repaint=False, init=False)
    """The latest view; every screen is drawn from it."""

    def __init__(
        self,
        deck: Deck,
        settings: ScreenSettings | None = None,
        *,
        clock: Clock | None = None,
        report_crash: ReportCrash | None = None,
    ) -> None:
        super().__init__(driver_class=driver_for_terminal())
        self.deck = deck
        self.settings = settings or ScreenSettings()
        self.clock = clock or SystemClock()
        self.drafts: dict[str, str] = {}
        """What is written and not sent, by whom it is for."""
        self.own_themes: tuple[str, ...] = ()
        self._report_crash = report_crash
        self._control_filter = ControlFilter()
        self._limit_steps = LimitSteps()
        self._tick: Timer | None = None
        self._leaving_drained = False
        self.animation_level = "full" if self.settings.animations else "none"
        self._faults = [*self._register_themes(), *self._remap_keys()]

    # its make-up

    def get_default_screen(self) -> Screen[Any]:
        return DeckScreen(id="_default")

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [self._control_filter, *super().get_line_filters()]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULT_VARIABLES

    def _register_themes(self) -> Sequence[str]:
        packaged = packaged_themes()
        folder = self.settings.user_themes
        own = read_themes(folder.iterdir() if folder is not None and folder.is_dir() else ())
        for theme in (*packaged.good, *own.good):
            self.register_theme(theme)
        self.own_themes = tuple(theme.name for theme in own.good)
        faults = [*packaged.faults, *own.faults]
        if self.settings.theme in self.available_themes:
            self.theme = self.settings.theme
            return faults
        self.theme = "deck-dark"
        return [*faults, f"there is no theme {self.settings.theme!r}"]

    def _remap_keys(self) -> Sequence[str]:
        keymap, faults = read_keymap(self.settings.keymap)
        self.set_keymap(keymap)
        return faults

    def keys_of(self, action: Action) -> str:
        """An action's keys as people read them, remapped or not."""
        keys = self._keymap.get(action.id)
        return action.shown if keys is None else shown_keys(keys)

    def use_theme(self, name: str) -> None:
        self.theme = name

    def on_mount(self) -> None:
        self._tick = self.set_interval(1.0, self._show_scene, pause=True)
        self._follow_view()
        if self._faults:
            self.call_after_refresh(self.say, "; ".join(self._faults), Tone.ALERT)

    # down: views

    @work(group="view")
    async def _follow_view(self) -> None:
        view = self.deck.view
        while True:
            self.view = view
            await asyncio.sleep(VIEW_REST_SECONDS)
            try:
                view = await self.deck.wait_newer(view.revision)
            except BatchdeckError as lost:
                self.exit(return_code=lost.exit_code, message=Text(lost.message))
                return

    def watch_view(self) -> None:
        self._show_scene()
        self._leave_when_drained()

    def _show_scene(self) -> None:
        """Gives every open screen the view as it stands at this moment."""
        if self._closing:
            return
        scene = Scene(self.view, self.clock.now_ms())
        for screen in self.screen_stack:
            if isinstance(screen, LiveScreen | LiveModal):
                screen.scene = scene
        if self._tick is None:
            return
        # times pass only where something runs or waits; else nothing wakes the screen
        if self.view.running or self.view.queued or self.view.asks:
            self._tick.resume()
        else:
            self._tick.pause()

    def open(self, screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
        """Puts a screen over the others, with the latest scene."""
        if isinstance(screen, LiveScreen | LiveModal):
            screen.set_reactive(type(screen).scene, Scene(self.view, self.clock.now_ms()))
        self.push_screen(screen, then)

    # up: commands

    @work(group="commands")
    async def submit(self, command: Command, then: Callable[[Receipt], None]) -> None:
        """Has a command carried out and tells its receipt; keys are taken meanwhile."""
        try:
            receipt = await self.deck.submit(command)
        except BatchdeckError as failure:
            receipt = Receipt(accepted=False, error=failure.code, message=failure.message)
        then(receipt)

    def carry_out(self, command: Command, done: str) -> None:
        """Has a command carried out, and says that it is done or why not."""

        def tell(receipt: Receipt) -> None:
            if receipt.accepted:
                self.say(done)
            else:
                self.say(refused_words(receipt), Tone.ALERT)

        self.submit(command, tell)

    def change_limit(self, name: str, by: int) -> None:
        """One step on a limit; quick steps add up though the view has not caught up yet."""
        step = self._limit_steps.next(self.view, name, by)
        if isinstance(step, str):
            self.say(step, Tone.ALERT)
            return
        self.set_limit(name, step)

    def set_limit(self, name: str, value: int | None) -> None:
        before = self._limit_steps.begin(self.view, name, value)

        def tell(receipt: Receipt) -> None:
            self._limit_steps.end(name, value)
            if receipt.accepted:
                self.say(limit_changed_words(name, receipt, before, value))
            else:
                self.say(refused_words(receipt), Tone.ALERT)

        self.submit(SetLimit(name=name, value=value, origin="screen"), tell)

    # notices

    def say(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """One line on the topmost screen that has a place for it."""
        for screen in reversed(self.screen_stack):
            speak = getattr(screen, "say", None)
            if speak is not None and is_up(screen):
                speak(text, tone)
                return

    def copy(self, text: str, what: str) -> None:
        self.copy_to_clipboard(text)
        self.say(f"{what} is copied, if this terminal allows it (OSC 52)")

    # screens

    def write_to(self, agent: str, turn: Turn | None = None) -> None:
        scene = Scene(self.view, self.clock.now_ms())
        addressee = of_agent(agent) if turn is None else of_turn(turn, scene)
        self.open(ComposeScreen(addressee, self.drafts.get(addressee.to, "")))

    def open_turn(self, turn_id: int) -> None:
        self.open(TurnScreen(turn_id))

    def open_why(self, turn_id: int) -> None:
        self.open(WhyScreen(turn_id))

    def open_needs(self) -> None:
        self.open(NeedsScreen())

    def open_events(self) -> None:
        self.open(EventsScreen())

    def open_help(self, focus: Focus) -> None:
        self.open(HelpScreen(focus))

    def ask_first(self, question: str, detail: str, word: str, do: Callable[[], object]) -> None:
        """Does something only after a person has said yes."""

        def then(sure: bool | None) -> None:
            if sure:
                do()

        self.open(ConfirmScreen(question, detail, word), then)

    # leaving

    def leave(self) -> None:
        """Leaves at once where nothing ends by it; else asks how."""
        if self.settings.attached or not self.view.running:
            self.exit(Leave(How.DETACH))
        elif not isinstance(self.screen, LeaveScreen):
            self.open(LeaveScreen(), self._leave_as)

    def _leave_as(self, how: How | None) -> None:
        if how is How.DRAIN:
            self._leaving_drained = True
            self.carry_out(Drain(), "draining: the deck is left when nothing runs any more")
        elif how is not None:
            self.exit(Leave(how))

    def _leave_when_drained(self) -> None:
        if self._leaving_drained and self.view.draining and not self.view.running:
            self.exit(Leave(How.DRAIN))

    async def action_quit(self) -> None:
        self.leave()

    def action_help_quit(self) -> None:
        self.say("ctrl+c stops nothing here: q leaves, x stops a turn")

    # faults of the screen itself

    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: DOMNode) -> None:
        """Clashes were reported when the keymap was read."""

    def _fatal_error(self) -> None:
        """Leaves one line in place of a traceback, whose locals may hold secrets."""
        failure: BaseException | None = self._exception
        if isinstance(failure, WorkerFailed):
            failure = failure.error
        where = None
        if failure is not None and self._report_crash is not None:
            where = self._report_crash(failure)
        kind = type(failure).__name__
        words = f"batchdeck: the screen failed ({kind})"
        self._exit_renderables = [Text(words + (f"; details are in {where}" if where else ""))]
        self._close_messages_no_wait()

    def panic(self, *renderables: object) -> None:
        self._fatal_error()
