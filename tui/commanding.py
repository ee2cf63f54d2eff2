"""Commands on their way up: sent from a worker, their receipts told in one line."""

from __future__ import annotations

from collections.abc import Callable

from textual import work
from textual.reactive import reactive

from batchdeck.core.commands import Command, Receipt, SetLimit
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.port import Deck
from batchdeck.core.view import DeckView
from batchdeck.tui.asked_limits import AskedLimits
from batchdeck.tui.dressing import DressedApp
from batchdeck.tui.driver import driver_for_terminal
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.receipts import limit_changed_words, refused_words
from batchdeck.tui.screens.live import is_up


class CommandingApp(DressedApp):
    """Sends commands to the deck; keys are taken meanwhile."""

    deck: Deck
    view: reactive[DeckView] = reactive(DeckView(), repaint=False, init=False)
    """The latest view; every screen is drawn from it."""

    finished_at = 0.0
    """When a dialog last closed because its command was done (`time.monotonic`)."""

    def __init__(self, deck: Deck) -> None:
        super().__init__(driver_class=driver_for_terminal())
        self.deck = deck
        self.asked_limits = AskedLimits()

    @work(group="commands")
    async def submit(self, command: Command, then: Callable[[Receipt], None]) -> None:
        """Has a command carried out, and hands its receipt on."""
        try:
            receipt = await self.deck.submit(command)
        except BatchdeckError as failure:
            receipt = Receipt(accepted=False, error=failure.code, message=failure.message)
        then(receipt)

    def carry_out(self, command: Command, done: str) -> None:
        """Has a command carried out, and says that it is done or why not."""

        def tell(receipt: Receipt) -> None:
            self.tell(receipt, done)

        self.submit(command, tell)

    def set_limit(self, name: str, value: int | None) -> None:
        """Sets a limit, and tells the number before and after."""
        before = self.asked_limits.now(self.deck.view, name)
        self.asked_limits.begin(name, value)

        def tell(receipt: Receipt) -> None:
            self.asked_limits.end(name, value)
            self.tell(receipt, limit_changed_words(name, receipt, before, value))

        self.submit(SetLimit(name=name, value=value, origin="screen"), tell)

    # notices

    def tell(self, receipt: Receipt, done: str) -> None:
        """Says that a thing is done, or in the deck's own words why not."""
        if receipt.accepted:
            self.say(done)
        else:
            self.say(refused_words(receipt), Tone.ALERT)

    def say(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """One line on the topmost screen that has a place for it."""
        for screen in reversed(self.screen_stack):
            speak = getattr(screen, "say", None)
            if speak is not None and is_up(screen):
                speak(text, tone)
                return

    def copy(self, text: str, what: str) -> None:
        """Puts a text on the clipboard, and says what was done."""
        self.copy_to_clipboard(text)
        self.say(f"{what} is copied, if this terminal allows it (OSC 52)")
