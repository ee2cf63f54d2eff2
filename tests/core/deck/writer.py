"""The engine's writer without its loop: rounds one by one, on a database in memory."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.commands import Command, Receipt
from batchdeck.core.deck.audit import violations
from batchdeck.core.deck.barrier import is_ripe, judge
from batchdeck.core.deck.closing import close_slots
from batchdeck.core.deck.committing import carry_out_verdict
from batchdeck.core.deck.following import follow
from batchdeck.core.deck.handling.batches import add_part
from batchdeck.core.deck.handling.commands import carry_out
from batchdeck.core.deck.letters import Found, Judged
from batchdeck.core.deck.outcomes import ended
from batchdeck.core.deck.restoring import scheduler_for, state_from
from batchdeck.core.deck.state import DeckState
from batchdeck.core.deck.turns import claim
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.plan import starts
from batchdeck.core.rules.reconciling import Finding
from batchdeck.core.store.changes import SAVE_LIMIT, Changes, GuardRefused
from batchdeck.core.store.events import Noted
from batchdeck.core.store.load import load
from batchdeck.core.store.migrate import migrate

START_MS = 1_800_000_000_000
EVERY_ENDED = 1_000_000


class Writer:
    """Does what one round of the engine does, and compares memory with disk after it."""

    def __init__(self, places: dict[str, Folder], copied: sqlite3.Connection | None = None) -> None:
        self.raw = sqlite3.connect(":memory:", isolation_level=None)
        self.raw.row_factory = sqlite3.Row
        self.raw.execute("PRAGMA foreign_keys = ON")
        if copied is None:
            self._make_rows()
        else:
            copied.backup(self.raw)
        self.places = places
        self.now_ms = START_MS
        self.events: list[Noted] = []
        self._read_back()
        self._open: Work | None = None

    def _make_rows(self) -> None:
        migrate(self.raw)
        first = Changes()
        first.add(SAVE_LIMIT, (GLOBAL, 4, 4, "", 0, "default", 0))
        first.write(self.raw)

    def copy(self) -> Writer:
        """Another deck that stands where this one stands."""
        return Writer(self.places, self.raw)

    def one_round(self, deeds: Sequence[Callable[[], object]]) -> None:
        """Does all in one transaction, admissions at its end.

        Raises:
            GuardRefused: nothing was done.
        """
        self._open = self._work()
        try:
            for deed in deeds:
                deed()
        finally:
            work, self._open = self._open, None
        try:
            self._finish(work)
        except GuardRefused:
            self._read_back()
            raise

    def stored(self) -> DeckState:
        """The state as the file has it."""
        return state_from(load(self.raw, EVERY_ENDED), "/deck", keep_ended=EVERY_ENDED)

    def command(self, command: Command, **found: object) -> Receipt | None:
        """Carries a command out; None: it was refused."""
        receipt = None
        work = self._work()
        with contextlib.suppress(BatchdeckError):
            receipt = carry_out(command, work, found)
        self._finish(work)
        while work.coming is not None:
            coming, work = work.coming, self._work()
            receipt = add_part(work, coming)
            self._finish(work)
        return receipt

    def end(self, turn: int, outcome: Outcome, attempt: str | None = None) -> None:
        """News of an attempt: of the turn's latest, unless another is named."""
        work = self._work()
        ended(work, turn, attempt or self.state.turns[turn].attempt or "", outcome)
        self._finish(work)

    def find(self, finding: Finding) -> None:
        """What a look at the world outside came to."""
        work = self._work()
        follow(work, Found(findings=(finding,)))
        self._finish(work)

    def pass_time(self, milliseconds: int) -> None:
        """A clock that goes on, or jumps: nothing but retries may depend on it."""
        self.now_ms = max(START_MS, self.now_ms + milliseconds)
        work = self._work()
        for turn in list(self.state.turns.values()):
            if turn.state is TurnState.QUEUED:
                work.refresh(turn.id)
        self._finish(work)

    def reopen(self) -> None:
        """What a supervisor that was killed and started again has in memory."""
        self._read_back()
        self._finish(self._work())

    def _read_back(self) -> None:
        self.state = self.stored()
        self.scheduler = scheduler_for(self.state, self.now_ms)

    def _work(self) -> Work:
        return self._open or Work(self.state, self.scheduler, self.now_ms)

    def _finish(self, work: Work) -> None:
        if work is self._open:
            return
        work.choose_items()
        close_slots(self.state, self.scheduler, work.now_ms)
        while (turn := self.scheduler.next()) is not None:
            claim(work, turn)
        changes = work.close()
        if changes:
            changes.write(self.raw)  # raises where the guard refuses a claim
        for call in work.after:
            call()
        self.state.forget_old_ends()
        self.events += work.events
        self.state.revision += 1

    def commit_barriers(self) -> None:
        """Judges what is ripe, from what is on disk, and carries it out."""
        for name, items in list(self.state.foreaches.items()):
            if is_ripe(self.state, name):
                verdict = judge(self.raw, self.state.batches[name])
                work = self._work()
                carry_out_verdict(work, Judged(name, items.changes, verdict))
                self._finish(work)

    def check(self) -> None:
        """Memory is disk, every invariant holds, and nothing that may start waits."""
        stored = self.stored()
        assert comparable(self.state) == comparable(stored)
        for name in ("tasks", "batches", "limits", "holds", "asks", "cooldowns"):
            assert getattr(self.state, name) == getattr(stored, name), name
        for batch, counts in stored.task_counts.items():
            shown = {status: n for status, n in self.state.task_counts[batch].items() if n}
            assert shown == counts
        live = frozenset(self.state.live)
        assert violations(self.state, self.scheduler, on_disk=live, in_hand=live) == []
        assert starts(self.state.snapshot(self.now_ms), self.now_ms) == ()


def comparable(state: DeckState) -> dict[int, Turn]:
    """The turns; what is derived from its task means nothing once a turn has left the queue."""
    return {
        turn.id: turn
        if turn.state is TurnState.QUEUED
        else replace(turn, blocked=False, depends_on=())
        for turn in state.turns.values()
    }
