"""What a batch file asks for, checked and with every default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from batchdeck.core.model.agent import Agent
from batchdeck.core.model.batch import Interrupt, OnError
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.task import Status


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task of a batch file."""

    key: str
    agent: str
    title: str = ""
    prompt: str = ""
    status: Status = Status.READY
    depends_on: tuple[str, ...] = ()
    target: str | None = None
    folder: str | None = None
    """An absolute path, or the name of a folder that the deck defines."""
    priority: int = 0
    issue: str | None = None
    index: int | None = None
    """Of an item of a foreach: its place, from 0."""
    item: str | None = None
    """Of an item: its value as JSON."""
    steps: str = ""
    """Of an item: what its steps are, as a short text that differs when they do."""
    conversation: str | None = None
    """Of an item: the name of the conversation that its first step goes on in; None: its own."""
    barrier: bool = False
    """It stands for the barrier of the foreach."""

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """What must not change once the task has begun."""
        common = (
            self.agent,
            self.title,
            self.prompt,
            self.depends_on,
            self.target,
            self.folder,
            self.issue,
        )
        return common if self.index is None else (*common, self.item, self.steps)


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """A whole batch file."""

    name: str
    tasks: tuple[TaskSpec, ...]
    agents: Mapping[str, Agent] = field(default_factory=dict)
    """The definitions this file brings."""
    limits: tuple[Limit, ...] = ()
    """Those the file, a flag or the configuration sets, each with its origin and its full name.

    `agent:NAME` is here only where something else than the agent's definition set it.
    """
    on_error: OnError = OnError.SKIP
    collect_to: str | None = None
    interrupt: Interrupt = Interrupt.CONTINUE
    max_attempts: int = 1
    reconciliation_interval_seconds: float = 30.0
    budget: Mapping[str, Any] | None = None
    prepare: tuple[tuple[str, ...], ...] = ()
    base: str = ""
    """Absolute folder that relative paths start at."""
    file: str | None = None
    folders: Mapping[str, str] = field(default_factory=dict)
    """Defined names of folders, absolute paths."""
    foreach: Mapping[str, Any] | None = None
    """The checked `foreach` block as plain data; None where the file has none. Its items are
    among the tasks."""
    folders_of_steps: tuple[str, ...] = ()
    """Absolute folders that later steps of items work in."""
