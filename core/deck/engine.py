"""The engine: one inbox, one writer; save, then remember, then publish, then answer."""

from __future__ import annotations

import heapq
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio

from batchdeck.core.agents.adapter import Assignment
from batchdeck.core.clock import Clock
from batchdeck.core.commands import Command, Receipt, Reconcile, StopAll, StopTurn
from batchdeck.core.deck.answering import Answers, closed, refusal
from batchdeck.core.deck.audit import Violation, violations
from batchdeck.core.deck.carrying import carry_out_letters
from batchdeck.core.deck.committing import Barriers
from batchdeck.core.deck.dispatcher import Dispatcher
from batchdeck.core.deck.handling.commands import look_up
from batchdeck.core.deck.letters import Audited, CommandLetter, Ended, Found, Letter, Started
from batchdeck.core.deck.mending import FROM_DISK
from batchdeck.core.deck.on_disk import data_version, live_on_disk
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.deck.reading import Reader
from batchdeck.core.deck.reconcile import Reconciler
from batchdeck.core.deck.restoring import (
    only_limits_left,
    scheduler_for,
    state_from,
    sync_holds,
)
from batchdeck.core.deck.state import KEPT_ENDED, DeckState
from batchdeck.core.deck.turns import claim, put_hold
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BatchdeckError, NoSupervisor, StoreError
from batchdeck.core.model.conversation import Message
from batchdeck.core.model.event import Event
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.points import reached
from batchdeck.core.port import OutputPage
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.store.changes import GuardRefused
from batchdeck.core.store.connection import Connection
from batchdeck.core.store.events import event_from
from batchdeck.core.store.load import load
from batchdeck.core.view import DeckView

_log = logging.getLogger(__name__)

MOST_PER_COMMIT = 256
"""Letters that one transaction takes together; more gain nothing and delay the answers."""
MOST_REFUSALS = 3
"""Refusals by the guard in a row before it is a fault, and not news from another program."""
PATIENCE_SECONDS = 0.05
"""How long the news that an agent works may wait for a transaction to ride in."""
AUDIT_SECONDS = 10.0
RETRY_SECONDS = 1.0
"""After a transaction that could not be written."""


class Engine:
    """The deck's writer. Everything that changes a row is a letter to it."""

    def __init__(
        self,
        connection: Connection,
        reader: Reader,
        state: DeckState,
        clock: Clock,
        options: DeckOptions,
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._state = state
        self._clock = clock
        self._options = options
        self._scheduler = scheduler_for(state, clock.now_ms())
        self._inbox: deque[Letter] = deque()
        self._can_wait: deque[Letter] = deque()
        self._wake = anyio.Event()
        self._newer = anyio.Event()
        self._awaited = 0
        self._due: list[tuple[int, int]] = []
        self._answers = Answers()
        self.barriers = Barriers()
        self._sweep_at = clock.monotonic() + options.sweep_seconds
        self._writing = False
        self._admitting = False
        self._closing = False
        self._data_version = 0
        self._broken = False
        """A fault of ours has happened; only a restart makes it good."""
        self._view = state.publish(clock.now_ms())
        self._view_is_old = False
        self.listeners: list[Callable[[Sequence[Event]], None]] = []
        """Called with the events of each transaction once it is on disk, in order."""
        self.closed = anyio.Event()
        """The writer has ended."""
        self.dispatcher: Dispatcher
        """Given by whoever opens the deck."""
        self.reconciler: Reconciler | None = None
        """Likewise, where it dispatches."""

    # -- the port

    @property
    def view(self) -> DeckView:
        """The latest published view; never shows what is not on disk."""
        if self._view_is_old and not self._writing:
            self._publish()
        return self._view

    def task(self, task_id: int | None) -> Task | None:
        """A task as the writer knows it now."""
        return None if task_id is None else self._state.tasks.get(task_id)

    async def wait_newer(self, revision: int) -> DeckView:
        """See `Deck.wait_newer`."""
        while (view := self.view).revision <= revision:
            self._awaited += 1
            try:
                await self._newer.wait()
            finally:
                self._awaited -= 1
        return view

    async def submit(self, command: Command) -> Receipt:
        """See `Deck.submit`."""
        if isinstance(command, Reconcile):
            return await self._reconcile()
        try:
            found = await look_up(command, self._state, self._reader)
        except BatchdeckError as error:
            return refusal(error)
        letter = CommandLetter(command, found)
        if self._closing:
            return closed()
        self.post(letter)
        await letter.answered.wait()
        assert letter.receipt is not None
        return letter.receipt

    async def _reconcile(self) -> Receipt:
        if self.reconciler is None or self._closing:
            return refusal(NoSupervisor("Nobody dispatches this deck."))
        await self._audit()
        return await self.reconciler.now()

    async def output(self, turn: int, start: int = 0, limit: int = 65536) -> OutputPage:
        """See `Deck.output`."""
        return await self._reader.output(self._state.turns.get(turn), turn, start, limit)

    async def events(self, after: int = 0, limit: int = 1000) -> Sequence[Event]:
        """See `Deck.events`."""
        return await self._reader.events(after, limit)

    async def messages(self, conversation: int) -> Sequence[Message]:
        """See `Deck.messages`."""
        return await self._reader.messages(conversation)

    # -- the inbox

    def post(self, letter: Letter) -> None:
        """Puts a letter in the inbox; news that can wait a moment does not cost a commit."""
        if isinstance(letter, Started):
            reached("started")
            self._can_wait.append(letter)
            return
        self._inbox.append(letter)
        self._wake.set()

    def admit(self) -> None:
        """Begins to start turns: recovery is over."""
        self._admitting = self._options.dispatch
        self._wake.set()

    def stop_admitting(self) -> None:
        """Starts nothing any more; letters are still carried out."""
        self._admitting = False

    def hold_at_start(self, hold: Hold) -> None:
        """Holds what the operator should look at before anything starts; the inbox is empty."""
        work = self._new_work()
        put_hold(work, hold)
        sync_holds(self._scheduler, work.view)
        self._start_work = work

    _start_work: Work | None = None

    async def settle(self) -> None:
        """Works off the inbox; before the writer's own task begins."""
        while self._inbox:
            await self._round()

    @property
    def supervises(self) -> bool:
        return self._options.dispatch

    def close(self) -> None:
        """Lets the writer end once the inbox is empty."""
        self._closing = True
        self._wake.set()

    # -- the writer

    async def run(self) -> None:
        """Writes until it is closed; cancellation does not reach it in the middle."""
        with anyio.CancelScope(shield=True):
            self._data_version = await self._connection.run(data_version)
            if self._start_work is not None:
                await self._save(self._start_work)
                self._remember(self._start_work, publish=True)
            while not (self._closing and not self._inbox and not self._can_wait):
                await self._something_to_do()
                await self._round()
        self.closed.set()
        self._answers.give_up()

    async def _something_to_do(self) -> None:
        if self._inbox or self._closing:
            return
        wait = max(0.0, self._sweep_at - self._clock.monotonic())
        if self._due:
            wait = min(wait, max(0.0, (self._due[0][0] - self._clock.now_ms()) / 1000))
        if self._can_wait:
            wait = min(wait, PATIENCE_SECONDS)
        with anyio.move_on_after(wait) as patience:
            await self._wake.wait()
        if patience.cancelled_caught and self._clock.monotonic() >= self._sweep_at:
            self._sweep_at = self._clock.monotonic() + self._options.sweep_seconds
            await self._sweep()

    async def _round(self) -> None:
        self._wake = anyio.Event()
        letters: list[Letter] = list(self._can_wait)
        self._can_wait.clear()
        letters += [self._inbox.popleft() for _ in range(min(len(self._inbox), MOST_PER_COMMIT))]
        if self._inbox:
            self._wake.set()
        work = self._new_work()
        self._writing = True
        try:
            letters = await self._with_history(letters)
            receipts = carry_out_letters(letters, work, self._options)
            self._look_at_due(work)
            work.choose_items()
            self._admit(work)
            await self._save(work)
        except BatchdeckError as error:
            await self._start_over(letters, error)
            return
        except Exception as error:  # noqa: BLE001 - a fault of ours must not strand what runs
            await self._failed(letters, error)
            return
        finally:
            self._writing = False
        if not self._broken:
            self._state.fault = None
        self._refusals = 0
        if any(isinstance(letter, Ended) for letter in letters):
            reached("finish.after")
        if any(isinstance(letter, Found) and letter.applied for letter in letters):
            reached("followed")
        if letters or work.events:
            self._remember(work, publish=bool(receipts))
            self._answers.give(receipts, self._state, work.now_ms)
            self._launch(work)
            for call in work.after:
                call()
        for letter in letters:
            if isinstance(letter, Found):
                letter.done.set()
        self.barriers.look(self._state)

    async def _with_history(self, letters: list[Letter]) -> list[Letter]:
        """The letters; one about a lost turn with how often crashes interrupted it before."""
        for number, letter in enumerate(letters):
            if isinstance(letter, Ended) and letter.outcome.state is TurnState.LOST:
                turn = self._state.turns.get(letter.turn)
                before = 0 if turn is None else await self._reader.interruptions(turn)
                letters[number] = replace(letter, interruptions=before)
        return letters

    def _new_work(self) -> Work:
        return Work(self._state, self._scheduler, self._clock.now_ms())

    def _look_at_due(self, work: Work) -> None:
        while self._due and self._due[0][0] <= work.now_ms:
            _, turn_id = heapq.heappop(self._due)
            turn = self._state.turns.get(turn_id)
            if turn is not None and turn.state is TurnState.QUEUED:
                work.refresh(turn)

    def _admit(self, work: Work) -> None:
        while self._admitting and (turn := self._scheduler.next()) is not None:
            claim(work, turn)

    async def _save(self, work: Work) -> None:
        changes = work.close()
        if not changes:
            return
        self._prompts = await self._connection.run(changes.write)

    _prompts: dict[int, str]
    _refusals = 0

    async def _start_over(self, letters: Sequence[Letter], error: BatchdeckError) -> None:
        """What was in memory is not on disk: read it back, refuse the commands, keep the news.

        Nothing else is done before it has been read back. When the deck is being closed the news
        is given up: the next supervisor finds out by evidence.
        """
        _log.error("transaction refused: %s", error)
        self._refusals += 1
        again = isinstance(error, GuardRefused) and self._refusals < MOST_REFUSALS
        for letter in reversed(letters):
            if isinstance(letter, CommandLetter) and not again:
                self._refuse(letter, error)
            elif not self._closing:
                self._inbox.appendleft(letter)
        read_back = await self._reload()
        if not again:
            self._show_fault(error.message, on_disk=read_back)
            await self._rest()
        while not read_back and not self._closing:
            self._refuse_waiting(error)
            await self._rest()
            read_back = await self._reload()

    async def _rest(self) -> None:
        """Waits a moment before another try; not while the deck is being closed."""
        if self._closing:
            self._inbox.clear()
            self._can_wait.clear()
            return
        await anyio.sleep(RETRY_SECONDS)

    def _refuse_waiting(self, error: BatchdeckError) -> None:
        """Answers the commands that came meanwhile; news waits."""
        for letter in [one for one in self._inbox if isinstance(one, CommandLetter)]:
            self._inbox.remove(letter)
            self._refuse(letter, error)

    def _refuse(self, letter: CommandLetter, error: BatchdeckError) -> None:
        """Refuses a command that cannot be recorded; but what is to stop stops all the same."""
        if isinstance(letter.command, StopTurn):
            self.dispatcher.stop(letter.command.turn)
        elif isinstance(letter.command, StopAll):
            self.dispatcher.stop_all()
        letter.answer(refusal(error))

    async def _failed(self, letters: Sequence[Letter], error: Exception) -> None:
        """A fault of our own: nothing new starts, what runs goes on, and the operator is told.

        News of attempts that was among the letters is not tried again, for it may be the cause;
        the next supervisor settles those attempts by their evidence.
        """
        _log.exception("a round of the engine failed")
        words = f"batchdeck itself failed ({type(error).__name__}): nothing new starts; see the log"
        self._admitting = False
        self._broken = True
        await self._reload()
        self._show_fault(words)
        for letter in letters:
            if isinstance(letter, CommandLetter):
                letter.answer(refusal(StoreError(words)))
            elif isinstance(letter, Found):
                letter.done.set()

    def _show_fault(self, words: str, *, on_disk: bool = True) -> None:
        """Publishes a fault beside what is known to be on disk. `on_disk`: memory is that."""
        self._state.fault = words
        self._state.revision += 1
        if on_disk:
            self._publish()
            return
        view = replace(self._view, fault=words, revision=self._state.revision)
        self._tell_of(view)

    async def _reload(self) -> bool:
        """Reads the deck back from its file; False: that too has failed, memory is as it was."""
        try:
            stored = await self._connection.run(lambda raw: load(raw, KEPT_ENDED))
        except StoreError as error:
            _log.error("could not be read back: %s", error)
            return False
        state = state_from(stored, self._state.deck)
        for name in (
            "max_parallel_cap",
            "parallelism_limit_cap",
            "banner",
            "fault",
            "supervised",
            "violations",
            "trackers",
        ):
            setattr(state, name, getattr(self._state, name))
        state.revision = self._state.revision + 1
        self._state = state
        now_ms = self._clock.now_ms()
        self._scheduler = scheduler_for(state, now_ms)
        self._due = [
            (turn.not_before_ms, turn.id)
            for turn in state.turns.values()
            if turn.state is TurnState.QUEUED and turn.not_before_ms > now_ms
        ]
        heapq.heapify(self._due)
        self._view_is_old = True
        return True

    # -- after a transaction

    def _remember(self, work: Work, *, publish: bool) -> None:
        for due in work.due:
            heapq.heappush(self._due, due)
        self._state.revision += 1
        if self._awaited or publish or self._answers:
            self._publish()
        else:
            self._view_is_old = True
        if self.listeners:
            events = [event_from(noted) for noted in work.events]
            for listener in self.listeners:
                listener(events)
        self._answers.settle(self._state)

    def _publish(self) -> None:
        self._tell_of(self._state.publish(self._clock.now_ms()))

    def _tell_of(self, view: DeckView) -> None:
        self._view = view
        self._view_is_old = False
        newer, self._newer = self._newer, anyio.Event()
        newer.set()

    def _launch(self, work: Work) -> None:
        limit = effective_limit(self._state.snapshot(work.now_ms), GLOBAL) or 0
        # a limit that was lowered lets what runs go on: there may be more than it says
        self.dispatcher.set_limit(max(max(limit, 1) + self._state.forced, self._state.running))
        for turn_id in work.launches:
            reached("claimed")
            turn = self._state.turns[turn_id]
            self.dispatcher.launch(turn, self._assign(turn, self._prompts.get(turn_id, "")))
        for turn_id in work.stops:
            self.dispatcher.stop(turn_id)

    def _assign(self, turn: Turn, prompt: str) -> Assignment:
        return self._reader.assignment(self._state, turn, prompt, self._options.environment)

    # -- the sweep

    async def _sweep(self) -> None:
        """What no event told: rows changed by another program, a turn that was overlooked."""
        reached("tick")
        try:
            version = await self._connection.run(data_version)
            if self._data_version != version:
                self._data_version = version
                await self._reload()
            await self._audit()
        except StoreError as error:
            self._show_fault(error.message)
            return
        work = self._new_work()
        for turn in list(self._state.turns.values()):
            eligible = only_limits_left(turn, self._state, work.now_ms)
            if eligible and turn.id not in self._scheduler:
                self._scheduler.add(turn)

    async def audit(self) -> None:
        """Checks the invariants now, and returns when what was found has been dealt with."""
        await self._audit()
        with anyio.move_on_after(AUDIT_SECONDS):
            while self._inbox or self._writing:
                await self.wait_newer(self.view.revision)

    async def _audit(self) -> None:
        """Checks the invariants; what is broken is shown, told, and mended in the next round."""
        on_disk = await self._connection.run(live_on_disk)
        if self._inbox or self._can_wait:
            return  # news is on its way: look when it has been dealt with
        found = tuple(self._violations(on_disk))
        words = tuple(violation.words for violation in found)
        if words != self._state.violations:
            self._state.violations = words
            self._state.revision += 1
            self._publish()
        if not found:
            return
        _log.error("audit: %s", "; ".join(words))
        if any(violation.kind in FROM_DISK for violation in found):
            await self._reload()
        stranded = (one.turn for one in found if one.kind == "stranded turn")
        turns = [self._state.turns[turn] for turn in stranded if turn in self._state.turns]
        adopt = [t for t in turns if self.dispatcher.outlives(self._state.agents[t.agent].kind)]
        self.post(Audited(found, frozenset(turn.id for turn in adopt)))
        for turn in adopt:
            self.dispatcher.launch(turn, self._assign(turn, ""), adopt=True)

    def _violations(self, on_disk: frozenset[int]) -> list[Violation]:
        dispatches = self._options.dispatch
        hand = self.dispatcher.in_hand if dispatches else frozenset(self._state.live)
        return violations(self._state, self._scheduler, on_disk=on_disk, in_hand=hand)
