"""Preparation: what a batch does once per folder, one at a time, before an agent works there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import anyio
import anyio.to_thread

from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.agents.command_line import CannotStart, locate
from batchdeck.core.agents.environment import BASE
from batchdeck.core.agents.stopping import stop_when_asked
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import Alive, Died, Ended, Evidence, Executor, Launch
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.private import make_private_folder
from batchdeck.core.text import decode, one_line

LONGEST_SECONDS = 900.0
_TAIL = 2000
_LAST_LINES = 3
_MOST_OF_COMMAND = 60
_MOST_WORDS = 500


class Preparation:
    """Carries a batch's `prepare` commands out under the runner, each in a folder of its own.

    The folders are named by batch, working folder and command, so that what an earlier supervisor
    began is waited for, and what it finished is not done again.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.one_at_a_time = anyio.CapacityLimiter(1)

    async def carry_out(self, assignment: Assignment, control: Control) -> Outcome | None:
        """Prepares the turn's folder; an outcome where the turn cannot go on, else None."""
        if not assignment.prepare:
            return None
        if not await self._my_turn(control):
            return _stopped()
        try:
            for command in assignment.prepare:
                if control.stop.is_set():
                    return _stopped()
                problem = await self._step(assignment, command, control)
                if problem is not None:
                    return problem
        finally:
            self.one_at_a_time.release_on_behalf_of(control)
        return None

    async def _my_turn(self, control: Control) -> bool:
        """Waits until no other folder is being prepared; False where it is stopped before."""
        async with anyio.create_task_group() as waits:

            async def until_stopped() -> None:
                await control.stop.wait()
                waits.cancel_scope.cancel()

            waits.start_soon(until_stopped)
            await self.one_at_a_time.acquire_on_behalf_of(control)
            waits.cancel_scope.cancel()
            return True
        return False

    async def _step(
        self, assignment: Assignment, command: tuple[str, ...], control: Control
    ) -> Outcome | None:
        folder = assignment.folder or assignment.base
        run = assignment.run.parent / _name(assignment, folder, command)
        evidence = self._executor.evidence(run)
        if _succeeded(evidence):
            return None
        try:
            if not isinstance(evidence, Alive):
                await self._start(assignment, command, folder, run)
        except CannotStart as reason:
            return _failed(command, reason.words, assignment)
        except OSError as error:
            return _failed(command, error.strerror or str(error), assignment)
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(stop_when_asked, self._executor, run, control)
            evidence = await self._executor.wait(run)
            watchers.cancel_scope.cancel()
        if _succeeded(evidence):
            return None
        words = await anyio.to_thread.run_sync(_how_it_failed, evidence, run)
        await self._clear(run)
        return _stopped() if control.stop.is_set() else _failed(command, words, assignment)

    async def _start(
        self, assignment: Assignment, command: tuple[str, ...], folder: Path, run: Path
    ) -> None:
        await self._clear(run)
        await anyio.to_thread.run_sync(make_private_folder, run)
        given = assignment.environment
        environment = {name: given[name] for name in BASE if name in given} | {"TERM": "dumb"}
        launch = Launch(
            run=run,
            argv=(locate(command[0], environment), *command[1:]),
            environment={**environment, "BATCHDECK_RUN": run.name},
            folder=folder,
            timeout_seconds=LONGEST_SECONDS,
        )
        await self._executor.start(launch)

    async def _clear(self, run: Path) -> None:
        """Takes away what is left of an earlier try, its processes too where its runner died."""
        await self._executor.sweep(run.name)
        await anyio.to_thread.run_sync(shutil.rmtree, run, True)


def _name(assignment: Assignment, folder: Path, command: tuple[str, ...]) -> str:
    place = assignment.folder_key or str(folder)
    text = json.dumps([assignment.batch, place, command])
    return f"prepare-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _succeeded(evidence: Evidence) -> bool:
    if not isinstance(evidence, Ended):
        return False
    return evidence.record.end is AttemptEnd.EXITED and evidence.record.code == 0


def _how_it_failed(evidence: Evidence, run: Path) -> str:
    if isinstance(evidence, Died):
        return "its process was lost"
    if not isinstance(evidence, Ended):
        return "it never began"
    record = evidence.record
    if record.spawn_failure is not None:
        return f"it could not be started ({record.spawn_failure.name})"
    if record.end is AttemptEnd.TIMED_OUT:
        return f"it took over {LONGEST_SECONDS:.0f} s"
    try:
        with open(run / attempt_files.OUTPUT, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            tail = decode(file.read(_TAIL))
    except OSError:
        tail = ""
    lines = [one_line(line) for line in tail.splitlines() if line.strip()]
    last = " | ".join(lines[-_LAST_LINES:])
    return f"exit {record.code}" + (f": {last}" if last else "")


def _failed(command: tuple[str, ...], words: str, assignment: Assignment) -> Outcome:
    """A failure of the surroundings: the folder is held, or the agent where there is none."""
    place = "agent" if assignment.folder is None else "folder"
    named = one_line(" ".join(command), _MOST_OF_COMMAND)
    error = one_line(f"preparation {named} failed: {words}", _MOST_WORDS)
    return Outcome(TurnState.FAILED, error=error, surroundings=place)


def _stopped() -> Outcome:
    return Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, error="stopped while it was prepared")
