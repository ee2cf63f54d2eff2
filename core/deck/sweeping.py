"""The sweep: at times it looks for what no event told, and has the invariants checked."""

from __future__ import annotations

import contextlib
from typing import Protocol

from batchdeck.core.clock import Clock
from batchdeck.core.deck.auditing import Auditor
from batchdeck.core.deck.dispatcher import Dispatcher
from batchdeck.core.deck.inbox import Inbox
from batchdeck.core.deck.memory import Memory
from batchdeck.core.deck.on_disk import data_version
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.deck.restoring import only_limits_left
from batchdeck.core.errors import StoreError
from batchdeck.core.model.turn import Turn
from batchdeck.core.points import reached
from batchdeck.core.store.connection import Connection


class _Engine(Protocol):
    """What a sweep needs besides memory: who waits for attempts, and how one is taken over."""

    dispatcher: Dispatcher

    def adopt(self, turn: Turn) -> None: ...


class Sweeper:
    """Called by the writer alone, between two rounds; anybody may ask for an audit."""

    def __init__(
        self,
        connection: Connection,
        memory: Memory,
        inbox: Inbox,
        clock: Clock,
        options: DeckOptions,
        engine: _Engine,
    ) -> None:
        self._connection = connection
        self._memory = memory
        self._inbox = inbox
        self._clock = clock
        self._options = options
        self._engine = engine
        self._auditor = Auditor(connection, memory)
        self._at = clock.monotonic() + options.sweep_seconds
        self._data_version = 0

    async def begin(self) -> None:
        """Notes what the file is now: whatever changes it beside us is news from here on.

        Where that cannot be read now, the first sweep takes everything for news.
        """
        with contextlib.suppress(StoreError):
            self._data_version = await self._connection.run(data_version)

    # -- in time

    @property
    def seconds_left(self) -> float:
        """Until the next sweep is due; 0: it is."""
        return max(0.0, self._at - self._clock.monotonic())

    async def sweep(self) -> None:
        """What no event told: rows changed by another program, a turn that was overlooked."""
        self._at = self._clock.monotonic() + self._options.sweep_seconds
        reached("tick")
        try:
            version = await self._connection.run(data_version)
            if self._data_version != version and await self._memory.read_back():
                self._data_version = version
            await self._audit()
        except StoreError as error:
            self._memory.show_fault(error.message)
            return
        if self._memory.state.fault is not None and not self._memory.state.broken:
            self._memory.show_fault(None)
        state, scheduler = self._memory.state, self._memory.scheduler
        now_ms = self._clock.now_ms()
        for turn in list(state.turns.values()):
            if only_limits_left(turn, state, now_ms) and turn.id not in scheduler:
                scheduler.add(turn)

    # -- on demand

    async def audited(self) -> None:
        """Has the writer check the invariants, between two rounds."""
        done = self._auditor.ask()
        self._inbox.ring()
        await done.wait()

    async def audit_if_asked(self) -> None:
        if not self._auditor.is_asked:
            return
        try:
            await self._audit()
        except StoreError as error:
            self._memory.show_fault(error.message)
        self.answer()

    def answer(self) -> None:
        """Nobody who asked for an audit waits any longer."""
        self._auditor.answer()

    async def _audit(self) -> None:
        """Checks the invariants; what is broken is shown, told, and mended in the next round."""
        found = await self._auditor.audit(
            self._engine.dispatcher, self._options.dispatch, lambda: bool(self._inbox)
        )
        if found is None:
            return
        letter, adopt = found
        self._inbox.post(letter)
        for turn in adopt:
            self._engine.adopt(turn)
