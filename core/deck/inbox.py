"""The writer's inbox: letters in the order in which they came, taken a round's worth at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import anyio

from batchdeck.core.deck.answering import closed
from batchdeck.core.deck.letters import CommandLetter, Forget, Found, Letter, Part, Started, Wants
from batchdeck.core.model.permission import Decision
from batchdeck.core.points import reached

MOST_PER_COMMIT = 256
"""Letters that one transaction takes together; more gain nothing and delay the answers."""
PATIENCE_SECONDS = 0.05
"""How long the news that an agent works may wait for a transaction to ride in."""


class Inbox:
    """Anybody may post; the writer alone takes."""

    def __init__(self) -> None:
        self._letters: deque[Letter] = deque()
        self._can_wait: deque[Letter] = deque()
        self._singly = 0
        """Letters that are taken one by one, since one of them has made a round fail."""
        self._wake = anyio.Event()
        self._patience = anyio.CancelScope()
        """Of the wait that goes on; news that can wait a moment shorten it."""

    def __bool__(self) -> bool:
        """Whether anything is in it."""
        return bool(self._letters or self._can_wait)

    @property
    def is_urgent(self) -> bool:
        """Whether anything in it should not wait."""
        return bool(self._letters)

    def post(self, letter: Letter) -> None:
        """Puts a letter in; news that can wait a moment does not cost a commit."""
        if isinstance(letter, Started):
            reached("started")
            self._can_wait.append(letter)
            soon = anyio.current_time() + PATIENCE_SECONDS
            self._patience.deadline = min(self._patience.deadline, soon)
            return
        self._letters.append(letter)
        self._wake.set()

    def ring(self) -> None:
        """Wakes the writer: there is something to do besides letters."""
        self._wake.set()

    async def wait(self, seconds: float) -> bool:
        """Waits for something urgent, so long at most; False: nothing came."""
        if self._can_wait:
            seconds = min(seconds, PATIENCE_SECONDS)
        with anyio.move_on_after(seconds) as self._patience:
            await self._wake.wait()
        return not self._patience.cancelled_caught

    def take(self) -> list[Letter]:
        """The letters of the round that begins."""
        self._letters.extendleft(reversed(self._can_wait))
        self._can_wait.clear()
        most = 1 if self._singly else MOST_PER_COMMIT
        self._singly = max(0, self._singly - 1)
        taken = [self._letters.popleft() for _ in range(min(len(self._letters), most))]
        self._wake = anyio.Event()
        if self._letters:
            self._wake.set()
        return taken

    def put_back(self, letters: Sequence[Letter], *, singly: bool = False) -> None:
        """Takes letters in again, before all others. `singly`: each gets a round of its own."""
        self._letters.extendleft(reversed(letters))
        if singly:
            self._singly += len(letters)
        if letters:
            self._wake.set()

    def take_commands(self) -> list[CommandLetter]:
        """The commands alone; news stays."""
        commands = [letter for letter in self._letters if isinstance(letter, CommandLetter)]
        self._letters = deque(one for one in self._letters if not isinstance(one, CommandLetter))
        return commands

    def drop(self) -> None:
        """The deck closes: commands are refused, news is found again by the next supervisor."""
        for letter in self._letters:
            if isinstance(letter, CommandLetter):
                letter.answer(closed())
            elif isinstance(letter, Part):
                letter.letter.answer(closed())
            elif isinstance(letter, Found | Forget):
                letter.done.set()
            elif isinstance(letter, Wants):
                letter.reply.give(Decision.CANCELLED)
        self._letters.clear()
        self._can_wait.clear()
