"""The past on every screen: back and forth in it, and back to now."""

from __future__ import annotations

from abc import abstractmethod

from textual import work

from batchdeck.core.clock import Clock
from batchdeck.core.errors import BatchdeckError
from batchdeck.tui.opening import OpeningApp
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.past import MOST_EVENTS, Past


class TravellingApp(OpeningApp):
    """Shows a moment that is gone, while what happens goes on."""

    clock: Clock
    past: Past | None = None
    """The moment that is shown; None: now."""

    @abstractmethod
    def show_scene(self) -> None:
        """Gives every screen the scene."""

    @property
    def in_past(self) -> bool:
        """Whether a moment that is gone is shown."""
        return self.past is not None

    def travel(self, by: int) -> None:
        """One step back (-1) or on (1) in time."""
        self._travel(by)

    @work(exclusive=True, group="past")
    async def _travel(self, by: int) -> None:
        past = self.past
        if past is None:
            if by > 0:
                self.say("later: this is now; [ goes back")
                return
            try:
                events = await self.deck.events(-MOST_EVENTS, MOST_EVENTS)
            except BatchdeckError as error:
                self.say(error.message, Tone.ALERT)
                return
            past = Past(self.view, events, self.clock.now_ms())
        if not past.step(by):
            self.say("earlier: nothing is known of what was before this", Tone.ALERT)
            return
        self.past = None if past.is_now else past
        self.show_scene()

    def return_to_now(self) -> None:
        self.past = None
        self.show_scene()
