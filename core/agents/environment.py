"""What an agent's process sees of its surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from batchdeck.core.agents.adapter import Assignment
from batchdeck.core.executors.processes import MARK

BASE = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "SHELL")


def environment_of(assignment: Assignment, prompt_file: Path, ask: Path) -> Mapping[str, str]:
    """The whole environment: the base, what the agent's definition names, and our own variables."""
    agent, supervisor = assignment.agent, assignment.environment
    return {
        **{name: supervisor[name] for name in BASE if name in supervisor},
        "TERM": "dumb",
        **{name: supervisor[name] for name in agent.pass_env if name in supervisor},
        **agent.env,
        **_own(assignment, prompt_file, ask),
    }


def _own(assignment: Assignment, prompt_file: Path, ask: Path) -> dict[str, str]:
    own = {
        "BATCHDECK_TURN": str(assignment.turn),
        "BATCHDECK_TASK": assignment.task,
        "BATCHDECK_BATCH": assignment.batch,
        "BATCHDECK_ATTEMPT": str(assignment.number),
        MARK: assignment.attempt,
        "BATCHDECK_PROMPT_FILE": str(prompt_file),
        "BATCHDECK_ASK": str(ask),
    }
    return {name: value for name, value in own.items() if value is not None}
