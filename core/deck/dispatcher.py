"""Has claimed turns worked on by their agents, and tells the writer how each attempt ended."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import anyio
import anyio.abc

from batchdeck.core.agents.adapter import Adapter, Assignment, Control, Outcome
from batchdeck.core.agents.asking import Reply
from batchdeck.core.deck.letters import Ended, Letter, Started, Wants
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.permission import Decision, Permission
from batchdeck.core.model.turn import AttemptEnd, Trigger, Turn, TurnState
from batchdeck.core.secrets import Secrets, secrets_of, without_secrets

_log = logging.getLogger(__name__)

Prepare = Callable[[Assignment, Control], Awaitable[Outcome | None]]
"""Prepares an attempt's folder; an outcome where the attempt cannot go on."""
BeforeLaunch = Callable[[Turn], Awaitable[None]]
"""A last look before an agent is started; it may have the turn stopped."""
Said = Callable[[Turn], Awaitable[tuple[tuple[str, str], ...]]]
"""What was said in a turn's conversation before it."""
Exchange = Callable[[Turn, str], Awaitable[str]]
"""The prompt of an answer, with the exchange so far, for an agent that keeps none itself."""

AGAIN_SECONDS = 1.0
"""After our own watching of an attempt has failed, until we go on with it."""
TRIES_AT_AN_END = 3
"""How often an attempt that is over is settled, before our failing to is its end."""


class _Left(Enum):
    """What there is of an attempt that we failed at."""

    NOTHING = "never started, or ended with our watching"
    AN_END = "started and over: how it ended may be found at another try"
    WORK = "at work, or nobody can tell"


@dataclass(frozen=True, slots=True)
class _Job:
    """One attempt that is to be worked on."""

    turn: Turn
    attempt: str
    assignment: Assignment
    control: Control
    adopt: bool
    secrets: Secrets


class _Worker:
    """A task that is done with its attempt, and waits for the next."""

    __slots__ = ("_given", "_job")

    def __init__(self) -> None:
        self._given = anyio.Event()
        self._job: _Job

    def take(self, job: _Job) -> None:
        self._job = job
        self._given.set()

    async def next_job(self) -> _Job:
        await self._given.wait()
        return self._job


class Dispatcher:
    """One worker per attempt; the writer decides, this only carries out.

    A worker is a task that takes the next attempt when it is done with one, for beginning a task
    costs more than all the rest that is done here for an attempt.
    """

    def __init__(
        self,
        adapters: Mapping[AgentKind, Adapter],
        post: Callable[[Letter], None],
        exchange: Exchange,
        said: Said,
        prepare: Prepare | None = None,
        before_launch: BeforeLaunch | None = None,
    ) -> None:
        self._adapters = adapters
        self._post = post
        self._exchange = exchange
        self._said = said
        self._prepare = prepare
        self._before_launch = before_launch
        self._controls: dict[int, Control] = {}
        self._abandoned = False
        self._scope = anyio.CancelScope()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._idle: list[_Worker] = []
        self.in_flight = anyio.CapacityLimiter(1)
        """A token per attempt that is worked on: a net below the writer's own counting."""

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Works until `abandon`; what can outlive the supervisor then goes on by itself."""
        with self._scope:
            async with anyio.create_task_group() as self._tasks:
                task_status.started()
                await anyio.sleep_forever()

    def abandon(self) -> None:
        """Lets go of every attempt, and begins none any more."""
        self._abandoned = True
        self._scope.cancel()

    def outlives(self, kind: AgentKind) -> bool:
        """Whether turns of such agents go on when the supervisor goes."""
        adapter = self._adapters.get(kind)
        return adapter is not None and adapter.outlives

    def never_started(self, kind: AgentKind, run: Path) -> bool:
        """Proves that an attempt was never started, and sees to it that it never will be."""
        adapter = self._adapters.get(kind)
        return adapter is None or not adapter.outlives or adapter.never_started(run)

    def at_work(self, kind: AgentKind, run: Path) -> bool:
        """Whether an attempt that was started has not ended."""
        adapter = self._adapters.get(kind)
        return adapter is not None and adapter.at_work(run)

    async def end_leftovers(self, kind: AgentKind, run: Path) -> int:
        """Ends what is left of an attempt whose agent should have ended with its supervisor."""
        adapter = self._adapters.get(kind)
        return 0 if adapter is None else await adapter.end_leftovers(run)

    def set_limit(self, turns: int) -> None:
        """How many attempts may be worked on at once, forced ones included."""
        if self.in_flight.total_tokens != turns:
            self.in_flight.total_tokens = turns

    def launch(
        self, turn: Turn, assignment: Assignment, *, adopt: bool = False, told: bool = False
    ) -> None:
        """Begins an attempt, or goes on with one that an earlier supervisor began.

        `told`: that its agent works is known already.
        """
        if self._abandoned:
            return  # claimed while we were leaving: the next supervisor proves that it never began
        assert self._tasks is not None
        assert turn.attempt is not None
        attempt = turn.attempt
        secrets = secrets_of((assignment.agent,), assignment.environment)
        control = self._control(turn.id, attempt, secrets, told=told)
        self.in_flight.acquire_on_behalf_of_nowait(control)
        self._controls[turn.id] = control
        job = _Job(turn, attempt, assignment, control, adopt, secrets)
        if self._idle:
            self._idle.pop().take(job)
        else:
            self._tasks.start_soon(self._work, job)

    def _control(self, turn: int, attempt: str, secrets: Secrets, *, told: bool) -> Control:
        def started(process: int | None) -> None:
            nonlocal told
            if not told:
                told = True
                self._post(Started(turn, attempt, process))

        async def ask(permission: Permission) -> Decision:
            reply = Reply()
            permission = without_secrets(permission, secrets)
            self._post(Wants(turn, attempt, permission, reply))
            return await reply.wait()

        return Control(started, ask=ask)

    def stop(self, turn: int) -> None:
        """Has a running attempt ended, with all its processes."""
        control = self._controls.get(turn)
        if control is not None:
            control.stop.set()

    @property
    def in_hand(self) -> frozenset[int]:
        """The turns whose attempts are worked on."""
        return frozenset(self._controls)

    def stop_all(self) -> None:
        """Has every running attempt ended."""
        for control in self._controls.values():
            control.stop.set()

    async def _work(self, job: _Job) -> None:
        """Works on one attempt after the other."""
        while True:
            await self._attempt(job)
            worker = _Worker()
            self._idle.append(worker)
            job = await worker.next_job()

    async def _attempt(self, job: _Job) -> None:
        turn, control = job.turn, job.control
        try:
            outcome = await self._outcome(job)
        finally:
            if self._controls.get(turn.id) is control:
                del self._controls[turn.id]
            self.in_flight.release_on_behalf_of(control)
        self._post(Ended(turn.id, job.attempt, outcome))

    async def _outcome(self, job: _Job) -> Outcome:
        """How the attempt ends, whatever happens to it: the others go on."""
        kind = job.assignment.agent.kind
        adapter = self._adapters.get(kind)
        if adapter is None:
            words = f"agents of kind {kind} cannot be run by this version of batchdeck"
            return Outcome(TurnState.FAILED, error=words, surroundings="agent")
        return without_secrets(await self._to_its_end(job, adapter), job.secrets)

    async def _to_its_end(self, job: _Job, adapter: Adapter) -> Outcome:
        """A fault of our own is no end of an agent that works on.

        Its attempt keeps its slot and its folder, and is gone on with as if another supervisor had
        begun it.
        """
        adopt, tries = job.adopt, TRIES_AT_AN_END
        while True:
            try:
                if adopt:
                    return await adapter.adopt(job.assignment, job.control)
                return await self._run(job, adapter)
            except Exception as error:  # noqa: BLE001 - one attempt's fault must not end the others
                _log.exception("attempt %s of turn %s", job.attempt, job.turn.id)
                left = await _left_of(job, adapter)
                tries -= left is _Left.AN_END
                if left is _Left.NOTHING or not tries:
                    return _failed_by_us(error)
            adopt = True
            await anyio.sleep(AGAIN_SECONDS)

    async def _run(self, job: _Job, adapter: Adapter) -> Outcome:
        """An attempt that begins now."""
        turn, assignment, control = job.turn, job.assignment, job.control
        if self._before_launch is not None:
            await self._before_launch(turn)
        kind, session = assignment.agent.kind, assignment.session
        if kind is AgentKind.OPENAI or (kind is AgentKind.ACP and session is not None):
            # an ACP agent that has its session no more is told all of it again
            assignment = replace(assignment, said=await self._said(turn))
        elif turn.trigger is Trigger.ANSWER and session is None:
            prompt = await self._exchange(turn, assignment.prompt)
            assignment = replace(assignment, prompt=prompt)
        if control.stop.is_set():
            return Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED)  # before it ever began
        if self._prepare is not None and assignment.prepare:
            stuck = await self._prepare(assignment, control)
            if stuck is not None:
                return stuck
        return await adapter.run(assignment, control)


async def _left_of(job: _Job, adapter: Adapter) -> _Left:
    """What there is of an attempt that we failed at; ends what is there without a runner."""
    run = job.assignment.run
    try:
        began = adapter.outlives and not adapter.never_started(run)
        if began and adapter.at_work(run):
            return _Left.WORK
        await adapter.end_leftovers(run)
    except Exception:  # noqa: BLE001 - as long as nobody can tell, it may be at work
        _log.exception("what is left of attempt %s cannot be told", job.attempt)
        return _Left.WORK
    return _Left.AN_END if began else _Left.NOTHING


def _failed_by_us(error: Exception) -> Outcome:
    if isinstance(error, BatchdeckError):
        return Outcome(TurnState.FAILED, error=error.message)
    words = f"batchdeck failed to run it ({type(error).__name__}); see the log"
    return Outcome(TurnState.FAILED, AttemptEnd.INTERRUPTED, error=words)


def fenced() -> Outcome:
    """The outcome of an attempt that was proved never to have started."""
    return Outcome(TurnState.QUEUED, AttemptEnd.FENCED)


def interrupted() -> Outcome:
    """The outcome of an attempt that ended with its supervisor, and goes back to its place."""
    return replace(fenced(), end=AttemptEnd.INTERRUPTED)
