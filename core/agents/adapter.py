"""What the dispatcher asks of any kind of agent, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio

from batchdeck.core.agents.asking import Asking, ask_nobody
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.turn import AttemptEnd, TurnState


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt at one turn, with everything an agent needs to begin."""

    turn: int
    attempt: str
    """The attempt's id (uuid): the mark by which its processes are known."""
    number: int
    """Which attempt of its turn this is, from 1."""
    agent: Agent
    prompt: str
    runs: Path
    """Where the deck keeps attempts' folders."""
    folder: Path | None = None
    """The working folder; None: a fresh scratch folder inside `run`."""
    folder_key: str | None = None
    """The identity that the folder had when the turn was admitted."""
    task: str | None = None
    batch: str | None = None
    session: str | None = None
    """The program's own conversation id, where there is one to go on with."""
    said: tuple[tuple[str, str], ...] = ()
    """The conversation so far, role and text, for kinds of agents that keep none themselves, or may
    have lost it."""
    prepare: tuple[tuple[str, ...], ...] = ()
    """Commands that its batch carries out once per folder before."""
    base: Path = Path("/")
    """The folder that the batch's relative paths start at."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The supervisor's environment, copied before any screen was built."""

    @property
    def run(self) -> Path:
        """The attempt's own folder in the deck, `runs/<id>/`; made by the adapter, mode 0700."""
        return self.runs / self.attempt


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent left for the operator."""

    question: str
    choices: tuple[str, ...] = ()
    schema: str | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended; every text in it is already clean."""

    state: TurnState
    """succeeded, failed, incomplete, cancelled, lost, waiting with a question, or queued again:
    it never started."""
    end: AttemptEnd = AttemptEnd.EXITED
    exit_code: int | None = None
    """Negative: ended by that signal."""
    text: str = ""
    """The agent's final text."""
    error: str | None = None
    """One line, for people."""
    session: str | None = None
    question: Question | None = None
    surroundings: str | None = None
    """The failure was of the surroundings and ends nothing: `agent` or `folder` is to be held."""
    limited: UsageLimit | None = None
    """The account was used up: the turn goes back to its place, and the account is closed."""
    if_lost: str = "fail"
    """What becomes of the turn where it was lost: ask, retry or fail."""
    leftovers: int = 0
    """Processes that were still there when its agent had ended, and were ended."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    """The attempt's own."""
    session_cost: float | None = None
    """What its session has cost so far, earlier attempts included, by programs that tell that."""


class StopSign:
    """As `anyio.Event`, made only when somebody waits: most attempts end by themselves."""

    __slots__ = ("_event", "_set")

    def __init__(self) -> None:
        self._set = False
        self._event: anyio.Event | None = None

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        if self._event is not None:
            self._event.set()

    async def wait(self) -> None:
        """Waits until it is set."""
        if self._set:
            return
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()


@dataclass(slots=True, eq=False)
class Control:
    """How the dispatcher reaches into an attempt that runs.

    Setting `stop` ends the agent and its whole process tree; the adapter still returns an outcome
    (`cancelled`, or what the agent managed before). Cancelling the task that runs the adapter
    *abandons* the attempt: what can outlive the supervisor goes on.
    """

    started: Callable[[int | None], None]
    """Called once, when the agent really works; with its process id where it has one."""
    stop: StopSign = field(default_factory=StopSign)
    ask: Asking = ask_nobody
    """Asks a person for a permission while the agent waits."""


class Adapter(Protocol):
    """One kind of agent."""

    @property
    def outlives(self) -> bool:
        """Whether its attempts go on when the supervisor goes."""
        ...

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        """Has one attempt made, and returns how it ended. Raises only for faults of batchdeck."""
        ...

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        """Goes on with an attempt that began before (only where `outlives`).

        By an earlier supervisor, or by this one, whose watching failed.
        """
        ...

    async def end_leftovers(self, run: Path) -> int:
        """Ends what is left of an attempt that nobody watches; how many processes that were."""
        ...

    def never_started(self, run: Path) -> bool:
        """Proves that an attempt was never started, and sees to it that it never will be."""
        ...

    def at_work(self, run: Path) -> bool:
        """Whether an attempt that was started has not ended."""
        ...
