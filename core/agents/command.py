"""Command agents: any program that takes a prompt."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.agents.command_line import CannotStart, arguments, locate
from batchdeck.core.agents.dialects.names import WITHOUT_FINAL_EVENT
from batchdeck.core.agents.dialects.registry import Reading
from batchdeck.core.agents.environment import environment_of
from batchdeck.core.agents.settling import Settling
from batchdeck.core.agents.stopping import stop, stop_when_asked
from batchdeck.core.errors import BadInput
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import Alive, Died, Evidence, Executor, Launch, Never
from batchdeck.core.executors.places import device_and_inode, identify
from batchdeck.core.model.agent import PromptVia
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.private import make_private_folder, write_private

_log = logging.getLogger(__name__)

_LOOK_FOR_FINAL = 0.5


class CommandAgent:
    """Has attempts made by an executor, and finds out from files how they ended."""

    outlives = True

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        """See `Adapter.run`."""
        if control.stop.is_set():
            return Outcome(
                TurnState.CANCELLED, AttemptEnd.STOPPED, error="stopped before its start"
            )
        try:
            launch = await anyio.to_thread.run_sync(launch_for, assignment)
            pid = await self.executor.start(launch)
        except CannotStart as reason:
            return Outcome(TurnState.FAILED, error=reason.words, surroundings=reason.surroundings)
        except OSError as error:
            words = f"the attempt could not be started: {error.strerror or error}"
            return Outcome(TurnState.FAILED, error=words, surroundings="agent")
        if pid is not None:
            control.started(pid)
        evidence = await self._wait(assignment, control, reading := _reading(assignment))
        if pid is not None and isinstance(evidence, Never):
            evidence = Died()  # somebody removed its folder
        return await self._settle(assignment, control, reading, evidence)

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        """See `Adapter.adopt`."""
        control.started(getattr(self.executor.evidence(assignment.run), "agent", None))
        evidence = await self._wait(assignment, control, reading := _reading(assignment))
        if isinstance(evidence, Never) and self.executor.fence(assignment.run):
            evidence = Never(fenced=True)
        return await self._settle(assignment, control, reading, evidence)

    async def end_leftovers(self, run: Path) -> int:
        """See `Adapter.end_leftovers`."""
        return await self.executor.sweep(run.name)

    def never_started(self, run: Path) -> bool:
        """See `Adapter.never_started`."""
        return self.executor.fence(run)

    def at_work(self, run: Path) -> bool:
        """See `Adapter.at_work`."""
        return isinstance(self.executor.evidence(run), Alive)

    async def _wait(self, assignment: Assignment, control: Control, reading: Reading) -> Evidence:
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(stop_when_asked, self.executor, assignment.run, control)
            watchers.start_soon(self._stop_what_lingers, assignment, reading)
            evidence = await self.executor.wait(assignment.run)
            watchers.cancel_scope.cancel()
        return evidence

    async def _settle(
        self, assignment: Assignment, control: Control, reading: Reading, evidence: Evidence
    ) -> Outcome:
        left = await self.executor.sweep(assignment.attempt) if isinstance(evidence, Died) else 0
        settling = Settling(assignment, reading, control.stop.is_set())
        outcome = await anyio.to_thread.run_sync(settling.outcome, evidence)
        return replace(outcome, leftovers=outcome.leftovers + left)

    async def _stop_what_lingers(self, assignment: Assignment, reading: Reading) -> None:
        """Ends a program that has said its last word, and then nothing more, and stays.

        Whatever it says meanwhile shows that it has gone on: it is waited for anew.
        """
        if assignment.agent.output in WITHOUT_FINAL_EVENT:
            return
        linger = assignment.agent.linger_seconds
        silent_since: float | None = None
        while True:
            await anyio.sleep(
                _LOOK_FOR_FINAL if silent_since is None else min(linger, _LOOK_FOR_FINAL)
            )
            read_before = reading.read_bytes
            try:
                await anyio.to_thread.run_sync(reading.go_on)
            except Exception:  # noqa: BLE001 - what cannot be read now does not end the agent
                _log.exception("the output of attempt %s could not be read", assignment.attempt)
                silent_since = None
                continue
            now = anyio.current_time()
            if not reading.dialect.final:
                silent_since = None
            elif silent_since is None or reading.read_bytes != read_before:
                silent_since = now
            elif now - silent_since >= linger:
                break
        await stop(self.executor, assignment.run)


def _reading(assignment: Assignment) -> Reading:
    return Reading(assignment.agent, assignment.run / attempt_files.OUTPUT)


def launch_for(assignment: Assignment) -> Launch:
    """Writes the prompt, and settles what is started where. Raises CannotStart or OSError."""
    agent, run = assignment.agent, assignment.run
    make_private_folder(run)
    prompt_file = run / "prompt"
    content = assignment.prompt.encode("utf-8", "replace")
    write_private(prompt_file, content)
    environment = environment_of(assignment, prompt_file, run / attempt_files.ASK)
    argv = arguments(agent, content.decode(), prompt_file, assignment.session)
    folder, identity = _place(assignment)
    return Launch(
        run=run,
        argv=(locate(argv[0], environment), *argv[1:]),
        environment=environment,
        folder=folder,
        identity=identity,
        stdin=prompt_file if agent.prompt_via is PromptVia.STDIN else None,
        timeout_seconds=agent.timeout_seconds,
    )


def _place(assignment: Assignment) -> tuple[Path, tuple[int, int] | None]:
    """The working folder with its identity, which must be what it was at admission."""
    if assignment.folder is None:
        scratch = assignment.run / attempt_files.SCRATCH
        make_private_folder(scratch)
        return scratch, None
    try:
        key = identify(assignment.folder).key
    except BadInput as error:
        raise CannotStart(error.message, "folder") from error
    identity = device_and_inode(key)
    if identity is None or not os.path.isdir(assignment.folder):
        raise CannotStart(f"the folder {assignment.folder} is missing", "folder")
    if assignment.folder_key not in (None, key):
        raise CannotStart(f"{assignment.folder} is not the folder it was", "folder")
    return assignment.folder, identity
