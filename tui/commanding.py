"""Commands on their way up: sent from a worker, their receipts told in one line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from textual import work
from textual.reactive import reactive

from batchdeck.core.commands import Command, PutHold, Receipt, ReleaseHold, SetLimit
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.conversation import Role
from batchdeck.core.model.hold import UNSAVED
from batchdeck.core.model.turn import DECIDES_TASK, Turn
from batchdeck.core.port import Deck
from batchdeck.core.view import DeckView
from batchdeck.tui.asked_limits import AskedLimits
from batchdeck.tui.drafts import Drafts, of_edit
from batchdeck.tui.dressing import DressedApp
from batchdeck.tui.driver import driver_for_terminal
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.limit_change import changed_by, limit_name_words
from batchdeck.tui.present.limits import number
from batchdeck.tui.present.receipts import bulk_words, limit_changed_words, refused_words
from batchdeck.tui.screens.live import is_up
from batchdeck.tui.undoing import Undo, UndoStack, needs_text, undo_of
from batchdeck.tui.widgets.action_bar import ActionBar

_AT_ONCE = 20
"""Commands of one bulk action that are under way together."""


class CommandingApp(DressedApp):
    """Sends commands to the deck; keys are taken meanwhile."""

    deck: Deck
    drafts: Drafts
    """What is written and not sent, by what it is for."""

    view: reactive[DeckView] = reactive(DeckView(), repaint=False, init=False)
    """The latest view; every screen is drawn from it."""

    finished_at = 0.0
    """When a dialog last closed because its command was done (`time.monotonic`)."""

    def __init__(self, deck: Deck) -> None:
        super().__init__(driver_class=driver_for_terminal())
        self.deck = deck
        self.asked_limits = AskedLimits()
        self.edited: set[int] = set()
        """The turns that are held because their text is edited here."""
        self._undos = UndoStack()

    @work(group="commands")
    async def submit(
        self, command: Command, then: Callable[[Receipt], None], can_undo: bool = True
    ) -> None:
        """Has a command carried out, and hands its receipt on."""
        receipt, undo = await self._sent(command)
        if undo is not None and can_undo:
            self._undos.note([undo])
        then(receipt)

    @work(group="commands")
    async def submit_all(
        self, commands: Sequence[Command], then: Callable[[Sequence[Receipt]], None]
    ) -> None:
        """Has several commands carried out in their order, as one change."""
        answers: list[tuple[Receipt, Undo | None]] = []
        for start in range(0, len(commands), _AT_ONCE):
            sent = (self._sent(command) for command in commands[start : start + _AT_ONCE])
            answers += await asyncio.gather(*sent)
        self._undos.note([undo for _, undo in answers if undo is not None])
        then([receipt for receipt, _ in answers])

    async def _sent(self, command: Command) -> tuple[Receipt, Undo | None]:
        view = self.deck.view
        try:
            about = needs_text(command, view)
            text = None if about is None else await self.text_of(about)
            receipt = await self.deck.submit(command)
        except BatchdeckError as failure:
            return Receipt(accepted=False, error=failure.code, message=failure.message), None
        return receipt, undo_of(command, view, text, receipt) if receipt.accepted else None

    async def text_of(self, turn: Turn) -> str:
        """What a queued turn will tell its agent."""
        messages = await self.deck.messages(turn.conversation)
        said = [m for m in messages if m.role is Role.OPERATOR]
        own = [m.text for m in said if m.turn == turn.id]
        if own:
            return own[-1]
        is_prompt = turn.trigger in DECIDES_TASK and said
        return said[0].text if is_prompt else turn.title

    def carry_out(self, command: Command, done: str = "") -> None:
        """Has a command carried out, and says that it is done or why not.

        Args:
            done: Words of the screen's own; none: the deck's.
        """

        def tell(receipt: Receipt) -> None:
            self.tell(receipt, done)

        self.submit(command, tell)

    def carry_out_all(self, commands: Sequence[Command], done: str) -> None:
        """Has commands carried out, and says for how many it worked; `done` is for one."""

        def tell(receipts: Sequence[Receipt]) -> None:
            words, tone = bulk_words(receipts, done)
            self.say(words, tone)

        self.submit_all(commands, tell)

    def set_limit(self, name: str, value: int | None) -> None:
        """Sets a limit, and tells the number before and after."""
        before = self.asked_limits.now(self.deck.view, name)
        self.asked_limits.begin(name, value)

        def tell(receipt: Receipt) -> None:
            self.asked_limits.end(name, value)
            self.tell(receipt, limit_changed_words(name, receipt, before, value))

        self.submit(SetLimit(name=name, value=value, origin="screen"), tell)

    def undo(self) -> None:
        """Takes the latest change back, and says what that was."""
        undo = self._undos.pop()
        if undo is None:
            self.say("undo: there is nothing to take back", Tone.ALERT)
            return
        view = self.deck.view
        other = undo.overtaken(lambda name: self.asked_limits.now(view, name))
        if other is not None:
            now = number(self.asked_limits.now(view, other))
            words = f"undo: {limit_name_words(other)} is {now} by now{changed_by(view, other)}"
            self.say(f"{words}; nothing is taken back", Tone.ALERT)
            return
        self._take_back(undo)

    @work(group="commands")
    async def _take_back(self, undo: Undo) -> None:
        """One after the other, for their order counts; what was refused is not told over."""
        what = undo.words_now(self.deck.view)
        receipts = [(await self._sent(command))[0] for command in undo.commands]
        if len(receipts) == 1:
            self.tell(receipts[0], f"undone: {what}")
        else:
            words, tone = bulk_words(receipts, f"changes taken back: {what}")
            self.say(words, tone)

    # what is held while it is edited

    def let_go(self, turn: int, then: Callable[[Receipt], None]) -> None:
        """Releases a turn whose text was edited."""

        def released(receipt: Receipt) -> None:
            self.edited.discard(turn)
            then(receipt)

        self.submit(ReleaseHold(what=f"turn:{turn}"), released, can_undo=False)

    async def let_all_go(self) -> None:
        """On the way out, releases what would stay held for ever; for when the app has ended.

        What was written and not saved is not sent as it read before: its turn waits for somebody.
        """
        with suppress(BatchdeckError):
            for turn in tuple(self.edited):
                what, unsaved = f"turn:{turn}", self.drafts.of(of_edit(turn))
                leave = PutHold(what=what, by=UNSAVED) if unsaved else ReleaseHold(what=what)
                await self.deck.submit(leave)
                self.edited.discard(turn)

    # notices

    def tell(self, receipt: Receipt, done: str) -> None:
        """Says that a thing is done, or in the deck's own words why not."""
        if receipt.accepted:
            self.say(done or receipt.message)
        else:
            self.say(refused_words(receipt), Tone.ALERT)

    def say(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """One line on the topmost screen that has a place for it."""
        if (bar := self._bar()) is not None:
            bar.say(text, tone)

    def mention(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """The same for what no key asked for: it waits for what was said to one."""
        if (bar := self._bar()) is not None:
            bar.mention(text, tone)

    def _bar(self) -> ActionBar | None:
        screens = (screen for screen in reversed(self.screen_stack) if is_up(screen))
        return next((bar for screen in screens for bar in screen.query(ActionBar)), None)

    def copy(self, text: str, what: str) -> None:
        """Puts a text on the clipboard, and says what was done."""
        self.copy_to_clipboard(text)
        self.say(f"{what} is copied, if this terminal allows it (OSC 52)")
