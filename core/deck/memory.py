"""The deck in memory, as the writer has it: its rows, what may start, and what others see of it."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace

import anyio

from batchdeck.core.clock import Clock
from batchdeck.core.deck.accounts import next_reset_ms
from batchdeck.core.deck.restoring import scheduler_for, state_from
from batchdeck.core.deck.state import KEPT_ENDED, DeckState
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.store.connection import Connection
from batchdeck.core.store.load import load
from batchdeck.core.view import DeckView

_log = logging.getLogger(__name__)

_NOT_ON_DISK = (
    "max_parallel_cap",
    "parallelism_limit_cap",
    "banner",
    "remark",
    "fault",
    "broken",
    "supervised",
    "violations",
    "trackers",
    "replies",
)
"""What a state that is read back has from the one before."""


class Memory:
    """Changed by the writer alone; what it publishes is on disk."""

    def __init__(self, connection: Connection, state: DeckState, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self.state = state
        self.scheduler = scheduler_for(state, clock.now_ms())
        self.writing = False
        """A round is under way: memory may be ahead of the disk."""
        self._due: list[tuple[int, int]] = []
        self._view = state.publish(clock.now_ms())
        self._view_is_old = False
        self._newer = anyio.Event()
        self._awaited = 0

    # -- what others see

    @property
    def view(self) -> DeckView:
        """The latest published view; never shows what is not on disk."""
        if self._view_is_old and not self.writing:
            self.publish()
        return self._view

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for a newer view."""
        return self._awaited > 0

    async def wait_newer(self, revision: int) -> DeckView:
        """See `Deck.wait_newer`."""
        while (view := self.view).revision <= revision:
            self._awaited += 1
            try:
                await self._newer.wait()
            finally:
                self._awaited -= 1
        return view

    def publish(self) -> None:
        """Shows the state as it is."""
        self._tell_of(self.state.publish(self._clock.now_ms()))

    def publish_when_asked(self) -> None:
        """The state has changed; a view of it is made once somebody wants one."""
        self._view_is_old = True

    def show_fault(self, words: str | None, *, on_disk: bool = True) -> None:
        """Publishes a fault beside what is known to be on disk; None: it is over.

        `on_disk`: memory is that.
        """
        self.state.fault = words
        self.state.revision += 1
        if on_disk:
            self.publish()
            return
        self._tell_of(replace(self._view, fault=words, revision=self.state.revision))

    def show_remark(self, words: str | None) -> None:
        """Publishes something an operator should know; None takes it back.

        Beside what is known to be on disk: a round may be under way.
        """
        self.state.remark = words
        self.state.revision += 1
        if not self.writing:
            self.publish()
            return
        shown = self.state.banner_words
        self._tell_of(replace(self._view, banner=shown, revision=self.state.revision))

    def _tell_of(self, view: DeckView) -> None:
        self._view = view
        self._view_is_old = False
        newer, self._newer = self._newer, anyio.Event()
        newer.set()

    # -- turns whose time comes

    def note_due(self, due: Iterable[tuple[int, int]]) -> None:
        """`(not_before_ms, turn)` of turns to look at again then."""
        for one in due:
            heapq.heappush(self._due, one)

    @property
    def next_due_ms(self) -> int | None:
        reset_ms = next_reset_ms(self.state, self._clock.now_ms()) if self.state.cooldowns else None
        if not self._due:
            return reset_ms
        return self._due[0][0] if reset_ms is None else min(self._due[0][0], reset_ms)

    def take_due(self, now_ms: int) -> Iterator[Turn]:
        """The queued turns whose time has come."""
        while self._due and self._due[0][0] <= now_ms:
            _, turn_id = heapq.heappop(self._due)
            turn = self.state.turns.get(turn_id)
            if turn is not None and turn.state is TurnState.QUEUED:
                yield turn

    # -- starting over

    async def read_back(self) -> bool:
        """Reads the deck back from its file; False: that too has failed, memory is as it was."""
        try:
            stored = await self._connection.run(lambda raw: load(raw, KEPT_ENDED))
            state = state_from(stored, self.state.deck)
        except Exception:  # noqa: BLE001 - whatever it is: memory stays, and it is tried again
            _log.exception("the deck could not be read back")
            return False
        for name in _NOT_ON_DISK:
            setattr(state, name, getattr(self.state, name))
        state.revision = self.state.revision + 1
        self.state = state
        now_ms = self._clock.now_ms()
        self.scheduler = scheduler_for(state, now_ms)
        self._due = [
            (turn.not_before_ms, turn.id)
            for turn in state.turns.values()
            if turn.state is TurnState.QUEUED and turn.not_before_ms > now_ms
        ]
        heapq.heapify(self._due)
        self._view_is_old = True
        return True
