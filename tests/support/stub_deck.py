"""A deck without an engine: views from builders, commands recorded, receipts as told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from batchdeck.core.commands import Command, Receipt
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.batch import Batch, BatchState
from batchdeck.core.model.budget import Spent, TurnSpent
from batchdeck.core.model.conversation import Message
from batchdeck.core.model.event import Event
from batchdeck.core.model.limit import GLOBAL, Limit
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import ENDED, LIVE, Trigger, Turn, TurnState
from batchdeck.core.port import OutputPage
from batchdeck.core.rules.standing import limit_names
from batchdeck.core.view import DeckView

NOW_MS = 1_800_000_000_000
"""The moment at which everything in these tests happens."""

Answering = Callable[[Command], Receipt]


class FixedClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self._now_ms = now_ms

    def monotonic(self) -> float:
        return self._now_ms / 1_000

    def now_ms(self) -> int:
        return self._now_ms

    def move(self, milliseconds: int) -> None:
        self._now_ms += milliseconds


def accepts(command: Command) -> Receipt:
    return Receipt(accepted=True)


class StubDeck:
    """Publishes what a test gives it, and remembers what it was asked."""

    def __init__(self, view: DeckView | None = None, answering: Answering = accepts) -> None:
        self._view = view or DeckView(revision=1)
        self._newer = asyncio.Event()
        self.answering = answering
        self.commands: list[Command] = []
        self.outputs: dict[int, bytes] = {}
        self.happened: list[Event] = []
        self.used: dict[int, TurnSpent] = {}
        self.said: dict[int, list[Message]] = {}
        self.pages_read = 0
        self.conversations_read: list[int] = []
        self.gate: asyncio.Event | None = None
        """While it is set to an event, receipts wait for that event."""

    @property
    def view(self) -> DeckView:
        return self._view

    def publish(self, view: DeckView) -> None:
        """A newer view; its revision is given here."""
        self._view = replace(view, revision=self._view.revision + 1)
        self._newer.set()
        self._newer = asyncio.Event()

    async def wait_newer(self, revision: int) -> DeckView:
        while self._view.revision <= revision:
            await self._newer.wait()
        return self._view

    async def submit(self, command: Command) -> Receipt:
        self.commands.append(command)
        if self.gate is not None:
            await self.gate.wait()
        return self.answering(command)

    async def output(self, turn: int, start: int = 0, limit: int = 65536) -> OutputPage:
        self.pages_read += 1
        whole = self.outputs.get(turn, b"")
        begin = max(0, len(whole) + start) if start < 0 else start
        known = self._view.turns.get(turn)
        ended = known is None or known.state in ENDED
        attempt = None if known is None else known.attempt
        return OutputPage(begin, whole[begin : begin + limit], len(whole), ended, attempt)

    async def events(self, after: int = 0, limit: int = 1000) -> Sequence[Event]:
        if after < 0:
            return self.happened[after:][:limit]
        return [event for event in self.happened if event.seq > after][:limit]

    async def spent(self, turn: int) -> TurnSpent:
        return self.used.get(turn, TurnSpent(Spent()))

    async def messages(self, conversation: int) -> Sequence[Message]:
        self.conversations_read.append(conversation)
        return self.said.get(conversation, [])


# builders


def agent(name: str = "coder", kind: AgentKind = AgentKind.COMMAND, **more: Any) -> Agent:
    return Agent(name=name, kind=kind, **more)


def batch(name: str = "docs", id: int = 1, state: BatchState = BatchState.RUNNING) -> Batch:
    return Batch(id=id, name=name, state=state)


def task(id: int, status: Status = Status.READY, **more: Any) -> Task:
    given = {"batch": "docs", "agent": "coder", "title": f"Task number {id}", **more}
    return Task(
        id=id,
        key=given.pop("key", f"T-{id}"),
        status=status,
        conversation=given.pop("conversation", id),
        position=id,
        turn=given.pop("turn", id),
        **given,
    )


def turn(id: int, state: TurnState = TurnState.QUEUED, **more: Any) -> Turn:
    """A turn of task `id`, unless told otherwise."""
    running = state in LIVE or state in ENDED or state is TurnState.WAITING
    given: dict[str, Any] = {
        "agent": "coder",
        "conversation": id,
        "trigger": Trigger.TASK,
        "position": id,
        "task": id,
        "batch": "docs",
        "lane": Status.READY,
        "queued_ms": NOW_MS - 580_000,
        "started_ms": NOW_MS - 252_000 if running else None,
        "ended_ms": NOW_MS - 60_000 if state in ENDED else None,
        **more,
    }
    return Turn(id=id, state=state, **given)


def limits(**numbers: int | None) -> dict[str, Limit]:
    """Limits by name; `global_` is the deck's."""
    named = {GLOBAL if name == "global_" else name: value for name, value in numbers.items()}
    return {name: Limit(name, value) for name, value in named.items()}


def view_of(
    turns: Sequence[Turn] = (),
    tasks: Sequence[Task] = (),
    agents: Sequence[Agent] = (),
    batches: Sequence[Batch] = (),
    limits: Mapping[str, int | None] | None = None,
    **more: Any,
) -> DeckView:
    """A view whose counts are those of its rows."""
    numbers = {GLOBAL: 4, **{f"agent:{a.name}": a.parallelism_limit for a in agents}}
    numbers.update(limits or {})
    live = [t for t in turns if t.state in LIVE]
    queued = [t for t in turns if t.state is TurnState.QUEUED]
    return DeckView(
        revision=1,
        at_ms=NOW_MS,
        deck="/data/project/.batchdeck",
        mode=more.pop("mode", "running" if live else "idle"),
        running=len(live),
        queued=len(queued),
        waiting=sum(t.state is TurnState.WAITING for t in turns),
        forced=sum(bool(t.forced) for t in live),
        running_by=_counted(live),
        queued_by=_counted(queued),
        live=tuple(t.id for t in live),
        in_order=_sequences(turns),
        turns={t.id: t for t in turns},
        tasks={t.id: t for t in tasks},
        agents={a.name: a for a in agents},
        batches={b.name: b for b in batches},
        task_counts=_task_counts(tasks),
        limits={name: Limit(name, value) for name, value in numbers.items()},
        **more,
    )


def _counted(turns: Sequence[Turn]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in turns:
        for name in limit_names(one):
            counts[name] = counts.get(name, 0) + 1
    return counts


def _sequences(turns: Sequence[Turn]) -> dict[str, tuple[int, ...]]:
    members: dict[str, list[Turn]] = {}
    for one in turns:
        if one.state in ENDED:
            continue
        members.setdefault(f"conversation:{one.conversation}", []).append(one)
        if one.target is not None:
            members.setdefault(f"target:{one.target}", []).append(one)
    return {
        name: tuple(t.id for t in sorted(found, key=lambda t: (t.position, t.id)))
        for name, found in members.items()
        if len(found) > 1
    }


def _task_counts(tasks: Sequence[Task]) -> dict[str, dict[Status, int]]:
    counts: dict[str, dict[Status, int]] = {}
    for one in tasks:
        of_batch = counts.setdefault(one.batch, {})
        of_batch[one.status] = of_batch.get(one.status, 0) + 1
    return counts
