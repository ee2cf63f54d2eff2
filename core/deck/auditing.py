"""The auditor: checks between two rounds of the writer that rows, memory and processes agree."""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio

from batchdeck.core.deck.audit import Violation, violations
from batchdeck.core.deck.dispatcher import Dispatcher
from batchdeck.core.deck.letters import Audited
from batchdeck.core.deck.memory import Memory
from batchdeck.core.deck.mending import FROM_DISK
from batchdeck.core.deck.on_disk import live_on_disk
from batchdeck.core.model.turn import Turn
from batchdeck.core.store.connection import Connection

_log = logging.getLogger(__name__)


class Auditor:
    """Called by the writer alone: while a round is under way, memory is ahead of the disk."""

    def __init__(self, connection: Connection, memory: Memory) -> None:
        self._connection = connection
        self._memory = memory
        self._asked: list[anyio.Event] = []

    # -- asking for it

    def ask(self) -> anyio.Event:
        """Wants it done after the round that comes; the event says that it was."""
        done = anyio.Event()
        self._asked.append(done)
        return done

    @property
    def is_asked(self) -> bool:
        return bool(self._asked)

    def answer(self) -> None:
        """It has been done for everybody who asked, or never will be."""
        asked, self._asked = self._asked, []
        for done in asked:
            done.set()

    # -- doing it

    async def audit(
        self, dispatcher: Dispatcher, dispatches: bool, news: Callable[[], bool]
    ) -> tuple[Audited, list[Turn]] | None:
        """What is broken, as a letter, with the turns to take over; None where all is well.

        `news`: whether letters are on their way, so that it is too early to judge.

        Raises:
            StoreError: the file cannot be asked.
        """
        on_disk = await self._connection.run(live_on_disk)
        if news():
            return None
        state = self._memory.state
        in_hand = dispatcher.in_hand if dispatches else frozenset(state.live)
        found = tuple(violations(state, self._memory.scheduler, on_disk=on_disk, in_hand=in_hand))
        self._show(found)
        if not found:
            return None
        _log.error("audit: %s", "; ".join(violation.words for violation in found))
        if any(violation.kind in FROM_DISK for violation in found):
            await self._memory.read_back()
        state = self._memory.state
        stranded = (state.turns.get(one.turn or 0) for one in found if one.kind == "stranded turn")
        adopt = [
            turn
            for turn in stranded
            if turn is not None and dispatcher.outlives(state.agents[turn.agent].kind)
        ]
        return Audited(found, frozenset(turn.id for turn in adopt)), adopt

    def _show(self, found: tuple[Violation, ...]) -> None:
        words = tuple(violation.words for violation in found)
        state = self._memory.state
        if words != state.violations:
            state.violations = words
            state.revision += 1
            self._memory.publish()
