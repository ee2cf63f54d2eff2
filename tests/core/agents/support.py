"""Assignments for agents under test."""

from __future__ import annotations

import os
import resource
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.agents.command import CommandAgent
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.agent import Agent, AgentKind

PROGRAM = Path(__file__).parents[2] / "support" / "scripted_agent.py"
SCRIPTED = (sys.executable, "-I", "-S", str(PROGRAM))


def command_agent(command: tuple[str, ...] = SCRIPTED, **given: object) -> Agent:
    return Agent("coder", AgentKind.COMMAND, command=command, **given)  # type: ignore[arg-type]


def assignment(tmp_path: Path, agent: Agent, prompt: str = "", **given: object) -> Assignment:
    attempt = str(uuid.uuid4())
    values: dict[str, object] = {
        "turn": 12,
        "attempt": attempt,
        "number": 1,
        "agent": agent,
        "prompt": prompt,
        "runs": tmp_path / "runs",
        "environment": dict(os.environ),
    }
    return Assignment(**{**values, **given})  # type: ignore[arg-type]


def control() -> Control:
    return Control(started=lambda pid: None)


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file can grow beyond so many bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def outcome_of(given: Assignment) -> Outcome:
    return await CommandAgent(LocalExecutor()).run(given, control())


async def scripted(tmp_path: Path, prompt: str, **given: object) -> Outcome:
    """What becomes of the scripted agent with a prompt."""
    return await outcome_of(assignment(tmp_path, command_agent(**given), prompt))  # type: ignore[arg-type]


async def shell(tmp_path: Path, script: str, **given: object) -> Outcome:
    """What becomes of a line of shell."""
    agent = command_agent(("sh", "-c", script), **given)
    return await outcome_of(assignment(tmp_path, agent))
