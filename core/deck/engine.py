"""The engine: one inbox, one writer; save, then remember, then publish, then answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from batchdeck.core.agents.adapter import Assignment
from batchdeck.core.clock import Clock
from batchdeck.core.commands import AddBatch, Command, Receipt, Reconcile
from batchdeck.core.deck.answering import Answers, closed, refusal
from batchdeck.core.deck.carrying import carry_out_letters
from batchdeck.core.deck.closing import close_slots
from batchdeck.core.deck.committing import Barriers
from batchdeck.core.deck.dispatcher import Dispatcher
from batchdeck.core.deck.handling.commands import look_up
from batchdeck.core.deck.inbox import Inbox
from batchdeck.core.deck.letters import CommandLetter, Ended, Forget, Found, Letter, Nobody
from batchdeck.core.deck.memory import Memory
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.deck.reading import Reader
from batchdeck.core.deck.reconcile import Reconciler
from batchdeck.core.deck.setbacks import Setbacks, failed_words
from batchdeck.core.deck.state import DeckState
from batchdeck.core.deck.sweeping import Sweeper
from batchdeck.core.deck.turns import claim, put_hold
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BatchdeckError, NoSupervisor, StoreError
from batchdeck.core.keeping import refuse_what_cannot_be_kept
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.budget import TurnSpent
from batchdeck.core.model.conversation import Message
from batchdeck.core.model.event import Event
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.points import reached
from batchdeck.core.port import OutputPage
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.secrets import Secrets, secrets_of
from batchdeck.core.store.connection import Connection
from batchdeck.core.store.events import event_from
from batchdeck.core.view import DeckView

_log = logging.getLogger(__name__)

AUDIT_SECONDS = 10.0


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
        self._clock = clock
        self._options = options
        self.memory = Memory(connection, state, clock)
        self._inbox = Inbox()
        self._setbacks = Setbacks(connection, self.memory, self._inbox, self)
        self._sweeper = Sweeper(connection, self.memory, self._inbox, clock, options, self)
        self._answers = Answers()
        self.barriers = Barriers()
        self._admitting = False
        self.closing = False
        self._start_work: Work | None = None
        """What is to be written before the first round."""
        self._prompts: dict[int, str] = {}
        """Of the turns that the latest transaction claimed."""
        self.listeners: list[Callable[[Sequence[Event]], None]] = []
        """Called with the events of each transaction once it is on disk, in order."""
        self.issues_come_first = anyio.Event()
        """Turns are to start as soon as the trackers were asked."""
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
        return self.memory.view

    def task(self, task_id: int | None) -> Task | None:
        """A task as the writer knows it now."""
        return None if task_id is None else self.memory.state.tasks.get(task_id)

    async def wait_newer(self, revision: int) -> DeckView:
        """See `Deck.wait_newer`."""
        return await self.memory.wait_newer(revision)

    async def submit(self, command: Command) -> Receipt:
        """See `Deck.submit`."""
        if isinstance(command, Reconcile):
            return await self._reconcile()
        try:
            await self._check(command)
            earlier = await self._reader.answered(command.id)
            if earlier is not None:
                return earlier
            found = await look_up(command, self.memory.state, self._reader)
        except BatchdeckError as error:
            return refusal(error)
        except Exception as error:  # noqa: BLE001 - one question must not end the deck
            _log.exception("%s could not be looked up", type(command).__name__)
            return refusal(StoreError(f"{failed_words(error)}. Nothing was changed."))
        letter = CommandLetter(command, found)
        if self.closing:
            return closed()
        self.post(letter)
        await letter.answered.wait()
        assert letter.receipt is not None
        return letter.receipt

    async def _check(self, command: Command) -> None:
        """In a thread where that takes its time: a batch may have 50,000 items."""
        if isinstance(command, AddBatch):
            await anyio.to_thread.run_sync(refuse_what_cannot_be_kept, command)
        else:
            refuse_what_cannot_be_kept(command)

    async def _reconcile(self) -> Receipt:
        if self.reconciler is None or self.closing:
            return refusal(NoSupervisor("Nobody dispatches this deck."))
        await self._sweeper.audited()
        return await self.reconciler.now()

    async def audit(self) -> None:
        """Checks the invariants now, and returns when what was found has been dealt with."""
        await self._sweeper.audited()
        with anyio.move_on_after(AUDIT_SECONDS):
            while self._inbox or self.memory.writing:
                await self.wait_newer(self.view.revision)

    def show_remark(self, words: str | None) -> None:
        """Shows a remark on every screen; None takes it back."""
        self.memory.show_remark(words)

    async def output(self, turn: int, start: int = 0, limit: int = 65536) -> OutputPage:
        """See `Deck.output`."""
        state = self.memory.state
        known = state.turns.get(turn)
        of = state.agents.values() if known is None else (state.agents.get(known.agent),)
        secrets = secrets_of(of, self._options.environment)
        return await self._reader.output(known, turn, start, limit, secrets)

    def secrets_of(self, agent: Agent | None) -> Secrets:
        """What an agent's process alone may know."""
        return secrets_of((agent,), self._options.environment)

    async def events(self, after: int = 0, limit: int = 1000) -> Sequence[Event]:
        """See `Deck.events`."""
        return await self._reader.events(after, limit)

    async def spent(self, turn: int) -> TurnSpent:
        """See `Deck.spent`."""
        return await self._reader.spent(turn)

    async def messages(self, conversation: int) -> Sequence[Message]:
        """See `Deck.messages`."""
        return await self._reader.messages(conversation)

    # -- the inbox

    def post(self, letter: Letter) -> None:
        """Puts a letter in the inbox."""
        self._inbox.post(letter)

    def admit(self) -> None:
        """Begins to start turns: recovery is over. Where issues are followed they are asked for
        first, by whoever waits for `issues_come_first`.
        """
        if self.reconciler is not None and self.reconciler.follows_issues:
            self.issues_come_first.set()
        else:
            self.begin_admitting()

    def begin_admitting(self) -> None:
        """Starts turns from now on, unless the deck is being left or is broken."""
        left = self.closing or self.memory.state.broken
        self._admitting = self._options.dispatch and not left
        if self._admitting and self._options.no_input:
            # only now, behind a first command, so that whoever gave it sees them fail
            self.post(Nobody())
        self._inbox.ring()

    def stop_admitting(self) -> None:
        """Starts nothing any more; letters are still carried out."""
        self._admitting = False

    def hold_at_start(self, hold: Hold) -> None:
        """Holds what the operator should look at before anything starts; the inbox is empty."""
        work = self._new_work()
        put_hold(work, hold)
        close_slots(work.state, work.scheduler, work.now_ms)
        self._start_work = work

    async def settle(self) -> None:
        """Works off the inbox; before the writer's own task begins."""
        while self._inbox:
            await self._round()

    @property
    def supervises(self) -> bool:
        return self._options.dispatch

    def close(self) -> None:
        """Lets the writer end once the inbox is empty."""
        self.closing = True
        self._inbox.ring()

    # -- the writer

    async def run(self) -> None:
        """Writes until it is closed; cancellation does not reach it in the middle."""
        try:
            with anyio.CancelScope(shield=True):
                await self._sweeper.begin()
                if self._start_work is not None:
                    await self._save(self._start_work)
                    self._remember(self._start_work, publish=True)
                while not self.closing or self._inbox:
                    await self._something_to_do()
                    await self._round()
                    await self._sweeper.audit_if_asked()
        finally:
            self.closing = True
            self._inbox.drop()
            self._sweeper.answer()
            self._answers.give_up()
            self.closed.set()

    async def _something_to_do(self) -> None:
        if self._inbox.is_urgent or self.closing:
            return
        wait = self._sweeper.seconds_left
        due_ms = self.memory.next_due_ms
        if due_ms is not None:
            wait = min(wait, max(0.0, (due_ms - self._clock.now_ms()) / 1000))
        came = await self._inbox.wait(wait)
        if not came and not self._sweeper.seconds_left:
            await self._sweeper.sweep()

    async def _round(self) -> None:
        letters = self._inbox.take()
        work = self._new_work()
        self.memory.writing = True
        try:
            letters = await self._with_history(letters)
            receipts = carry_out_letters(letters, work, self._options)
            for turn in self.memory.take_due(work.now_ms):
                work.refresh(turn.id)
            work.choose_items()
            close_slots(work.state, work.scheduler, work.now_ms)
            self._setbacks.avoid(work)
            self._admit(work)
            await self._save(work)
        except BatchdeckError as error:
            await self._setbacks.start_over(letters, error)
            return
        except Exception as error:  # noqa: BLE001 - a fault of ours must not strand what runs
            _log.exception("a round of the engine failed")
            await self._setbacks.failed(letters, error)
            return
        finally:
            self.memory.writing = False
        written = bool(letters or work.events)
        if written and not self.memory.state.broken:
            self.memory.state.fault = None
        self._setbacks.over()
        if any(isinstance(letter, Ended) for letter in letters):
            reached("finish.after")
        if any(isinstance(letter, Found) and letter.applied for letter in letters):
            reached("followed")
        if written:
            self._remember(work, publish=bool(receipts))
            self._answers.give(receipts, self.memory.state, work.now_ms)
            self._launch(work)
            for call in work.after:
                call()
            self.memory.state.forget_old_ends()
        for part in work.parts:
            reached("part")
            if self.closing:
                part.letter.answer(closed())
            else:
                self.post(part)
        for letter in letters:
            if isinstance(letter, Found | Forget):
                letter.done.set()
        self.barriers.look(self.memory.state)

    async def _with_history(self, letters: list[Letter]) -> list[Letter]:
        """The letters; one about a lost turn with how often crashes interrupted it before."""
        for number, letter in enumerate(letters):
            if isinstance(letter, Ended) and letter.outcome.state is TurnState.LOST:
                turn = self.memory.state.turns.get(letter.turn)
                before = 0 if turn is None else await self._reader.interruptions(turn)
                letters[number] = replace(letter, interruptions=before)
        return letters

    def _new_work(self) -> Work:
        return Work(self.memory.state, self.memory.scheduler, self._clock.now_ms())

    def _admit(self, work: Work) -> None:
        while self._admitting and (turn := self.memory.scheduler.next()) is not None:
            claim(work, turn)

    async def _save(self, work: Work) -> None:
        changes = work.close()
        if not changes:
            return
        self._prompts = await self._connection.run(changes.write)

    # -- after a transaction

    def _remember(self, work: Work, *, publish: bool) -> None:
        self.memory.note_due(work.due)
        self.memory.state.revision += 1
        if self.memory.is_awaited or publish or self._answers:
            self.memory.publish()
        else:
            self.memory.publish_when_asked()
        if self.listeners:
            events = [event_from(noted) for noted in work.events]
            for listener in self.listeners:
                listener(events)
        self._answers.settle(self.memory.state)

    def _launch(self, work: Work) -> None:
        state = self.memory.state
        limit = effective_limit(state.snapshot(work.now_ms), GLOBAL) or 0
        # a limit that was lowered lets what runs go on: there may be more than it says
        self.dispatcher.set_limit(max(max(limit, 1) + state.forced, state.running))
        for turn_id in work.launches:
            reached("claimed")
            turn = state.turns[turn_id]
            self.dispatcher.launch(turn, self._assign(turn, self._prompts.get(turn_id, "")))
        for turn_id in work.stops:
            self.dispatcher.stop(turn_id)

    def _assign(self, turn: Turn, prompt: str) -> Assignment:
        return self._reader.assignment(self.memory.state, turn, prompt, self._options.environment)

    def adopt(self, turn: Turn) -> None:
        """Waits for an attempt that runs, and that nobody waits for."""
        self.dispatcher.launch(turn, self._assign(turn, ""), adopt=True)
