"""The one door into the engine: what a screen, a command or another process may ask of a deck."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from batchdeck.core.commands import Command, Receipt
from batchdeck.core.model.budget import TurnSpent
from batchdeck.core.model.conversation import Message
from batchdeck.core.model.event import Event
from batchdeck.core.view import DeckView


@dataclass(frozen=True, slots=True)
class OutputPage:
    """A piece of a turn's output, raw: it is cleaned where it becomes lines on a screen."""

    start: int
    """Offset in bytes at which the piece begins."""
    data: bytes
    size: int
    """Bytes there are in all at this moment."""
    ended: bool
    """The turn has ended: nothing will follow."""
    attempt: str | None = None
    """The attempt that wrote it; another one's output begins anew. None: the deck's own copy of
    what the agent said last."""

    @property
    def end(self) -> int:
        return self.start + len(self.data)


class Deck(Protocol):
    """A deck that is open."""

    @property
    def view(self) -> DeckView:
        """The latest published view."""
        ...

    async def wait_newer(self, revision: int) -> DeckView:
        """Waits until there is a view with a revision above `revision`, and returns it."""
        ...

    async def submit(self, command: Command) -> Receipt:
        """Has a command carried out, and returns once its effect is on disk.

        Cancelling the wait gives up the wait, not the command. Never raises for what a person
        did wrong: that is in the receipt.
        """
        ...

    async def output(self, turn: int, start: int = 0, limit: int = 65536) -> OutputPage:
        """A piece of a turn's output. A negative `start` counts from the end."""
        ...

    async def events(self, after: int = 0, limit: int = 1000) -> Sequence[Event]:
        """Events with a `seq` above `after`, oldest first. A negative `after`: the latest ones."""
        ...

    async def spent(self, turn: int) -> TurnSpent:
        """What a turn has used in the attempts that have ended, and all turns of its task."""
        ...

    async def messages(self, conversation: int) -> Sequence[Message]:
        """The messages of a conversation, oldest first."""
        ...


class LiveDeck(Deck, Protocol):
    """A deck that this process holds."""

    def admit(self) -> None:
        """Begins to start turns."""
        ...

    @property
    def listeners(self) -> list[Callable[[Sequence[Event]], None]]: ...
