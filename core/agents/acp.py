"""Agents that speak the Agent Client Protocol (agentclientprotocol.com, version 1) on their pipes.

One process per attempt: `initialize`, a session that is new or loaded, one `prompt`. The protocol's
own library keeps requests and answers apart; the process and its pipes are ours.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from batchdeck.core.agents.acp_process import end_noted, leave, start_process
from batchdeck.core.agents.acp_report import Report
from batchdeck.core.agents.acp_talk import Talk
from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.agents.command import launch_for
from batchdeck.core.agents.command_line import CannotStart
from batchdeck.core.agents.output import EventOutput
from batchdeck.core.agents.pricing import priced
from batchdeck.core.executors.executor import Executor, Launch
from batchdeck.core.model.turn import AttemptEnd, TurnState

HANDSHAKE_SECONDS = 60.0
"""For `initialize` and the session; some programs load for long."""


class AcpAgent:
    """One process per attempt, that ends with its supervisor."""

    outlives = False

    def __init__(self, executor: Executor, handshake_seconds: float = HANDSHAKE_SECONDS) -> None:
        """`executor`: ends what an attempt's processes leave behind."""
        self._executor = executor
        self._handshake_seconds = handshake_seconds

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        """See `Adapter.run`."""
        if control.stop.is_set():
            return _stopped("stopped before its start")
        try:
            launch, output, process = await _begun(assignment)
        except CannotStart as reason:
            return Outcome(TurnState.FAILED, error=reason.words, surroundings=reason.surroundings)
        except OSError as error:
            words = f"{assignment.agent.command[0]} could not be started: {error.strerror or error}"
            return Outcome(TurnState.FAILED, error=words, surroundings="agent")
        talk = Talk(assignment, control, launch.folder, process, Report(output))
        try:
            control.started(process.pid)
            outcome = priced(await talk.to_the_end(self._handshake_seconds), assignment.agent)
        finally:
            sweep = partial(self._executor.sweep, assignment.attempt)
            has_ended = await leave(process, sweep, talk.close)
        if has_ended:
            return outcome
        left = f"its process {process.pid} could not be ended, and may work on"
        return replace(outcome, error=f"{outcome.error}; {left}" if outcome.error else left)

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        """Its process lost its pipes with its supervisor; what is left of it is ended."""
        left = await self.end_leftovers(assignment.run)
        words = "lost: it ended with its supervisor"
        return Outcome(TurnState.LOST, AttemptEnd.LOST, error=words, leftovers=left)

    async def end_leftovers(self, run: Path) -> int:
        """See `Adapter.end_leftovers`: its session, and what bears its mark wherever it is now."""
        return await end_noted(run) + await self._executor.sweep(run.name)

    def never_started(self, run: Path) -> bool:
        """See `Adapter.never_started`."""
        return False

    def at_work(self, run: Path) -> bool:
        """See `Adapter.at_work`: never longer than somebody watches."""
        return False

    async def close(self) -> None:
        """Nothing is kept open between attempts."""


async def _begun(
    assignment: Assignment,
) -> tuple[Launch, EventOutput, anyio.abc.Process]:
    """The agent's process, and where its output goes. Raises CannotStart or OSError."""
    launch = await anyio.to_thread.run_sync(launch_for, assignment)
    output = await anyio.to_thread.run_sync(EventOutput, assignment.run)
    try:
        return launch, output, await start_process(launch)
    except BaseException:
        output.close()
        raise


def _stopped(words: str) -> Outcome:
    return Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, error=words)
