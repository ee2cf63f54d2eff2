"""Rounds that failed: memory is read back; letters are tried again, refused, or given up."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import anyio

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.commands import StopAll, StopTurn
from batchdeck.core.deck.answering import refusal
from batchdeck.core.deck.dispatcher import Dispatcher
from batchdeck.core.deck.inbox import Inbox
from batchdeck.core.deck.letters import (
    CommandLetter,
    Ended,
    Forget,
    Found,
    Judged,
    Letter,
    Part,
    Wants,
)
from batchdeck.core.deck.memory import Memory
from batchdeck.core.deck.unstartable import agree
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BatchdeckError, StoreError
from batchdeck.core.model.permission import Decision
from batchdeck.core.model.turn import TurnState
from batchdeck.core.store.changes import SAVE_FACT, GuardRefused
from batchdeck.core.store.connection import Connection

_log = logging.getLogger(__name__)

MOST_REFUSALS = 3
"""Refusals by the guard in a row before it is a fault, and not news from another program.

After so many the limits are bound anew; whatever is refused then is held.
"""
RETRY_SECONDS = 1.0
"""After a transaction that could not be written."""
_BY_ITS_WORD = frozenset(
    {TurnState.SUCCEEDED, TurnState.FAILED, TurnState.INCOMPLETE, TurnState.WAITING}
)
UNREADABLE = "what the agent reported could not be written down; see batchdeck's log"


def failed_words(error: Exception) -> str:
    """A fault of ours, for the operator."""
    return f"batchdeck itself failed ({type(error).__name__}); see the log"


def survivors(letters: Sequence[Letter], error: Exception) -> list[Letter] | None:
    """The letters to carry out again, one by one; None where none of them can be the cause.

    Of several, each is tried alone; so are the findings of a look. One that fails alone is the
    cause: a command is refused; the news of an attempt's end is told again without what the agent
    said; other news is dropped, for it will be told again.
    """
    if len(letters) > 1:
        return list(letters)
    for letter in letters:
        match letter:
            case CommandLetter():
                letter.answer(refusal(StoreError(f"{failed_words(error)}. Nothing was changed.")))
                return []
            case Part():
                words = f"{failed_words(error)}. What was added goes at the next start."
                letter.letter.answer(refusal(StoreError(words)))
                return []
            case Ended() if letter.outcome != (bare := _bare(letter.outcome)):
                return [replace(letter, outcome=bare)]
            case Ended() | Judged():
                return None
            case Found() if len(letter.findings) > 1:
                return list(letter.singly())
            case Found():
                letter.failed.update({one.task: failed_words(error) for one in letter.findings})
                letter.done.set()
            case Forget():
                letter.done.set()
            case Wants():
                letter.reply.give(Decision.DENY)
    return [] if letters else None


def _bare(outcome: Outcome) -> Outcome:
    """An outcome without anything that an agent can have made up."""
    if outcome.state not in _BY_ITS_WORD:
        return Outcome(outcome.state, outcome.end, if_lost=outcome.if_lost)
    return Outcome(TurnState.FAILED, outcome.end, error=UNREADABLE)


class _Engine(Protocol):
    """What a setback concerns besides letters and memory."""

    closing: bool
    dispatcher: Dispatcher

    def stop_admitting(self) -> None: ...


class Setbacks:
    """Called by the writer alone, with the letters of a round that was not written."""

    def __init__(
        self, connection: Connection, memory: Memory, inbox: Inbox, engine: _Engine
    ) -> None:
        self._connection = connection
        self._memory = memory
        self._inbox = inbox
        self._engine = engine
        self._refusals = 0
        """Transactions in a row that the guard refused."""
        self._unstartable: frozenset[int] = frozenset()
        """Turns that it refuses to start although the limits have been bound anew."""

    def over(self) -> None:
        """A round was written."""
        self._refusals = 0
        self._unstartable = frozenset()

    def avoid(self, work: Work) -> None:
        """Before turns are claimed: sees to it that what was refused for good is not again."""
        if self._refusals >= MOST_REFUSALS:
            agree(work, self._unstartable)

    async def start_over(self, letters: Sequence[Letter], error: BatchdeckError) -> None:
        """What was in memory is not on disk: read it back, refuse the commands, keep the news.

        What the guard refused is carried out again letter by letter: a start and a lowered limit
        may each be right, and not be so at once. What it refuses for good is held, and nothing
        else: it must keep neither other turns nor commands. Nothing else is done before memory has
        been read back. When the deck is being closed the news is given up: the next supervisor
        finds out by evidence.
        """
        _log.error("transaction refused: %s", error)
        self._refusals = self._refusals + 1 if isinstance(error, GuardRefused) else 0
        again = isinstance(error, GuardRefused) and self._may_yet_agree(error)
        self._inbox.put_back(letters, singly=again)
        if not again:
            self._refuse_commands(error)
        read_back = await self._memory.read_back()
        if not again:
            self._memory.show_fault(error.message, on_disk=read_back)
            await self._rest()
        while not read_back and not self._engine.closing:
            self._refuse_commands(error)
            await self._rest()
            read_back = await self._memory.read_back()

    def _may_yet_agree(self, error: GuardRefused) -> bool:
        """Whether another try may be written: with limits bound anew, or with more turns held."""
        if self._refusals <= MOST_REFUSALS:
            return self._refusals < MOST_REFUSALS or bool(error.turns)
        more = error.turns - self._unstartable
        self._unstartable |= more
        return bool(more)

    async def _rest(self) -> None:
        """Waits a moment before another try; not while the deck is being closed."""
        if self._engine.closing:
            self._inbox.drop()
            return
        await anyio.sleep(RETRY_SECONDS)

    def _refuse_commands(self, error: BatchdeckError) -> None:
        """Refuses what cannot be recorded now; but what is to stop stops all the same."""
        for letter in self._inbox.take_commands():
            if isinstance(letter.command, StopTurn):
                self._engine.dispatcher.stop(letter.command.turn)
            elif isinstance(letter.command, StopAll):
                self._engine.dispatcher.stop_all()
            letter.answer(refusal(error))

    async def failed(self, letters: Sequence[Letter], error: Exception) -> None:
        """A fault of our own. The letter that is its cause is found by trying each alone.

        Where there is none, nothing new starts any more, what runs goes on, and everybody is told.
        """
        kept = survivors(letters, error)
        self._inbox.put_back(kept or (), singly=True)
        if kept is None:
            await self._break(letters, error)
        while not await self._memory.read_back() and not self._engine.closing:
            self._memory.show_fault(failed_words(error), on_disk=False)
            self._refuse_commands(StoreError(failed_words(error)))
            await self._rest()

    async def _break(self, letters: Sequence[Letter], error: Exception) -> None:
        """Only a restart makes it good; attempts among the letters are settled by evidence then."""
        words = f"{failed_words(error)}. Nothing new starts"
        self._engine.stop_admitting()
        state = self._memory.state
        state.broken, state.fault = True, words
        for letter in letters:
            if isinstance(letter, CommandLetter):
                letter.answer(refusal(StoreError(words)))
        with contextlib.suppress(StoreError):
            await self._connection.run(lambda raw: raw.execute(SAVE_FACT, ("fault", words)))
