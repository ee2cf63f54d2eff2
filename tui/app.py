"""The app: holds the latest view, opens the screens, and leaves as the operator chooses."""

from __future__ import annotations

import asyncio
from time import monotonic, perf_counter
from typing import Any, ClassVar

from rich.text import Text
from textual import events, work
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer

from batchdeck.core.clock import Clock, SystemClock
from batchdeck.core.commands import Drain, Receipt
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.port import Deck
from batchdeck.core.view import DeckView
from batchdeck.tui.bandwidth import Bandwidth
from batchdeck.tui.drafts import Drafts
from batchdeck.tui.failing import ReportCrash
from batchdeck.tui.leaving import How, Leave
from batchdeck.tui.looking_away import READING_MS, LookingAway
from batchdeck.tui.notices import sequence
from batchdeck.tui.pace import Pace
from batchdeck.tui.palette import DeckCommands
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.needs import urgent_count
from batchdeck.tui.present.news import news
from batchdeck.tui.present.queues import Queues
from batchdeck.tui.present.scene import Kept, Scene
from batchdeck.tui.screens.deck import DeckScreen
from batchdeck.tui.screens.leave import LeaveScreen
from batchdeck.tui.screens.live import Live
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.travelling import TravellingApp

SLOW_REST_SECONDS = 0.5
"""How long it rests between two views where the terminal is slow."""


class DeckApp(TravellingApp):
    """The dashboard of a deck that is open; `run_async` returns how the operator left.

    Args:
        deck: The one door to the engine, or to another process's engine.
        report_crash: Called once with what ended the app; the path it gives is named.
        drafts: What was written and not sent; by default none, and nothing outlives the app.
    """

    TITLE = "batchdeck"
    CSS_PATH = ["styles/app.tcss", "styles/deck.tcss", "styles/dialogs.tcss"]  # noqa: RUF012
    COMMANDS: ClassVar[set[Any]] = {DeckCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Leave", show=False, priority=True),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]

    def __init__(
        self,
        deck: Deck,
        settings: ScreenSettings | None = None,
        *,
        clock: Clock | None = None,
        report_crash: ReportCrash | None = None,
        drafts: Drafts | None = None,
    ) -> None:
        super().__init__(deck)
        self.clock = clock or SystemClock()
        self.report_crash = report_crash
        self.drafts = drafts or Drafts()
        self.bandwidth = Bandwidth()
        self.pace = Pace()
        self._queues = Queues()
        self._kept = Kept()
        self._away = LookingAway(self.clock.now_ms())
        self._tick: Timer | None = None
        self._leaves_when_drained = False
        self._faults = self.dress(settings or ScreenSettings())

    def get_default_screen(self) -> Screen[Any]:
        return DeckScreen(id="_default")

    def on_mount(self) -> None:
        self._tick = self.set_interval(1.0, self.show_scene, pause=True)
        self._follow_view()
        faults = [fault for fault in (*self._faults, self.drafts.trouble()) if fault]
        if faults:
            self.call_after_refresh(self.say, "; ".join(faults), Tone.ALERT)

    # views

    @work(group="view")
    async def _follow_view(self) -> None:
        view = self.deck.view
        while True:
            began = perf_counter()
            self.view = view
            self.drawn(perf_counter() - began)
            # the paint that this has called for comes meanwhile, and counts for the next rest
            rest = self.pace.rest()
            await asyncio.sleep(SLOW_REST_SECONDS if self.bandwidth.low else rest)
            try:
                view = await self.deck.wait_newer(view.revision)
            except BatchdeckError as lost:
                self.exit(return_code=lost.exit_code, message=Text(lost.message))
                return

    def watch_view(self, before: DeckView, view: DeckView) -> None:
        self._queues.update(view)
        self.show_scene()
        self._call_operator(before)
        self._leave_if_drained(before, view)

    def scene(self) -> Scene:
        """What every screen shows: the deck as it stands, or the moment that is looked at."""
        if self.past is None:
            return self.present()
        needing = urgent_count(self._kept.needs.of(self.view))
        return self.past.scene(self.clock.now_ms(), needing)

    def present(self) -> Scene:
        """The latest view, whatever is displayed."""
        now_ms = self.clock.now_ms()
        remark = self._away.words(self.view, now_ms)
        return Scene(self.view, now_ms, self._queues, remark, not self.bandwidth.low, self._kept)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and self._away.key_pressed(self.view, self.clock.now_ms()):
            self.show_scene()
            self.set_timer(READING_MS / 1_000, self.show_scene)
        await super().on_event(event)

    def show_scene(self) -> None:
        if self._closing:
            return
        scene = self.scene()
        for screen in self.screen_stack:
            if isinstance(screen, Live):
                screen.scene = scene
        if self._tick is None:
            return
        # times pass only where something runs or waits; else nothing wakes the screen
        if self.view.running or self.view.queued or self.view.asks:
            self._tick.resume()
        else:
            self._tick.pause()

    def _call_operator(self, before: DeckView) -> None:
        """Rings and tells when a question is new or a batch has ended."""
        fresh = news(before, self.present())
        if fresh is None:
            return
        if self.settings.bell:
            self.bell()
        if not before.revision:
            return
        self.mention(fresh.words, fresh.tone)
        if self.settings.notice is not None and self._driver is not None:
            in_tmux = self.settings.in_tmux
            self._driver.write(
                sequence(self.settings.notice, "batchdeck", fresh.words, in_tmux=in_tmux)
            )

    # the terminal

    async def run_async(self, **options: Any) -> Leave | None:
        options.setdefault("mouse", self.settings.mouse)
        try:
            return await super().run_async(**options)
        finally:
            self.drafts.save()  # whatever ended it, what was being typed is not lost

    def terminal_blocked(self) -> None:
        """Bytes are pending at a moment at which something is to be painted."""
        if self.bandwidth.blocked(monotonic()):
            self.mention("slow terminal: fewer updates and no bars", Tone.ALERT)

    def drawn(self, seconds: float) -> None:
        """Something was drawn, which took so long."""
        self.pace.spend(seconds)

    def terminal_flows(self) -> None:
        """The terminal has taken everything."""
        if self.bandwidth.flows(monotonic()):
            self.show_scene()

    # leaving

    def leave(self) -> None:
        """Leaves at once where nothing ends by it; else asks how."""
        # what the screen shows may be half a second old
        if self.settings.attached or not self.deck.view.running:
            self.exit(Leave(How.DETACH))
        elif not isinstance(self.screen, LeaveScreen):
            self.open(LeaveScreen(), self._leave_as)

    def _leave_as(self, how: How | None) -> None:
        if how is How.DRAIN:
            self.submit(Drain(), self._drain_begun)
        elif how is not None:
            self.exit(Leave(how))

    def _drain_begun(self, receipt: Receipt) -> None:
        self._leaves_when_drained = receipt.accepted
        self.tell(receipt, "draining: leaves when nothing runs any more; d admits again and stays")
        self._leave_if_drained(self.view, self.view)

    def _leave_if_drained(self, before: DeckView, view: DeckView) -> None:
        if before.draining and not view.draining:
            self._leaves_when_drained = False
        if self._leaves_when_drained and view.draining and not view.running:
            self.exit(Leave(How.DRAIN))

    async def action_quit(self) -> None:
        self.leave()

    def action_help_quit(self) -> None:
        self.say("ctrl+c stops nothing here: q leaves, x stops a turn")
