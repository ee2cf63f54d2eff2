"""Agents whose attempts begin and end exactly when a test says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from batchdeck.core.agents.adapter import Assignment, Control, Outcome, Question
from batchdeck.core.clock import Clock
from batchdeck.core.commands import AddBatch, Receipt
from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.spec import BatchSpec
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.trackers.tracker import IssueTracker
from batchdeck.core.view import DeckView

PATIENCE = 10
"""Seconds after which what is waited for is taken never to come."""


class Puppets:
    """An adapter of which every attempt waits for the test."""

    def __init__(self, outlives: bool = False) -> None:
        self.outlives = outlives
        self.assignments: dict[int, Assignment] = {}
        """The latest attempt of each turn that has begun, by turn."""
        self.controls: dict[int, Control] = {}
        self.begun: list[int] = []
        self._ends: dict[int, tuple[anyio.Event, list[Outcome]]] = {}
        self._news = anyio.Event()
        self.fenced: set[Path] = set()
        self.alive: set[Path] = set()
        """Runs of attempts that work on without a supervisor."""
        self.stopped: list[int] = []

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        turn = assignment.turn
        self.assignments[turn] = assignment
        self.controls[turn] = control
        self.begun.append(turn)
        ended, outcome = self._ends[turn] = (anyio.Event(), [])
        control.started(None)
        self._tell()
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(self._until_stopped, control, ended)
            await ended.wait()
            waiting.cancel_scope.cancel()
        if control.stop.is_set():
            self.stopped.append(turn)
            self._tell()
        if outcome:
            return outcome[0]
        return Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, exit_code=-15, error="stopped")

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        return await self.run(assignment, control)

    async def end_leftovers(self, run: Path) -> int:
        return 0

    def never_started(self, run: Path) -> bool:
        return not self.outlives or run in self.fenced

    def at_work(self, run: Path) -> bool:
        return run in self.alive

    async def _until_stopped(self, control: Control, ended: anyio.Event) -> None:
        await control.stop.wait()
        ended.set()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def until_begun(self, *turns: int) -> None:
        """Waits until these turns have begun."""
        with anyio.fail_after(PATIENCE):
            while not set(turns) <= set(self.begun):
                await self._news.wait()

    async def until_begun_again(self, turn: int, times: int = 2) -> None:
        """Waits until a turn has begun so often."""
        with anyio.fail_after(PATIENCE):
            while self.begun.count(turn) < times:
                await self._news.wait()

    async def until_stopped(self, turn: int) -> None:
        """Waits until a turn was told to stop, and did."""
        with anyio.fail_after(PATIENCE):
            while turn not in self.stopped:
                await self._news.wait()

    def end(self, turn: int, state: TurnState = TurnState.SUCCEEDED, **fields: Any) -> None:
        """Has a turn's attempt end."""
        ended, outcome = self._ends[turn]
        default = 0 if state is TurnState.SUCCEEDED else 1
        outcome.append(Outcome(state, exit_code=fields.pop("exit_code", default), **fields))
        ended.set()

    def when_stopped(self, turn: int, state: TurnState) -> None:
        """Has a turn's attempt end in its own way once it is told to stop."""
        self._ends[turn][1].append(Outcome(state, exit_code=0))

    def ask(self, turn: int, question: str, *choices: str) -> None:
        """Has a turn's attempt end with a question."""
        self.end(turn, TurnState.WAITING, question=Question(question, choices))


class Bench:
    """An open deck with puppets, and the few words that tests need."""

    def __init__(self, deck: Engine, puppets: Puppets) -> None:
        self.deck = deck
        self.puppets = puppets

    @property
    def view(self) -> DeckView:
        return self.deck.view

    async def add(self, spec: BatchSpec) -> Receipt:
        receipt = await self.deck.submit(AddBatch(spec=spec))
        assert receipt.accepted, receipt.message
        return receipt

    async def until(self, holds: Any) -> DeckView:
        """Waits until something holds of the view."""
        view = self.deck.view
        with anyio.fail_after(10):
            while not holds(view):
                view = await self.deck.wait_newer(view.revision)
        return view

    async def end(self, turn: int, state: TurnState = TurnState.SUCCEEDED, **fields: Any) -> None:
        """Ends an attempt, and waits until the turn is no longer running."""
        with anyio.fail_after(10):
            await self.puppets.until_begun(turn)
        self.puppets.end(turn, state, **fields)
        await self.until(
            lambda view: turn not in view.live and turn in view.turns and view.turns[turn].attempt
        )

    async def kinds(self, after: int = 0) -> list[str]:
        """The kinds of the events after a `seq`."""
        return [event.kind for event in await self.deck.events(after, 10_000)]


@asynccontextmanager
async def bench(
    folder: Path,
    puppets: Puppets | None = None,
    tracker: IssueTracker | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> AsyncIterator[Bench]:
    """A deck in a folder, dispatching to puppets."""
    puppets = puppets or Puppets()
    paths = DeckPaths(folder / ".batchdeck")
    adapters = {AgentKind.DEMO: puppets, AgentKind.COMMAND: puppets, AgentKind.ACP: puppets}
    async with open_deck(
        paths, DeckOptions(**options), adapters, clock=clock, tracker=tracker
    ) as deck:
        yield Bench(deck, puppets)
