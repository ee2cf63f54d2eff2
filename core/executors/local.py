"""Agents' programs on this machine, each under a runner that outlives the supervisor."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from batchdeck.core.executors import attempt_files, records, runner
from batchdeck.core.executors.executor import Alive, Evidence, Launch
from batchdeck.core.executors.processes import HAVE_PIDFD, ask_to_stop, runner_of, signal_marked
from batchdeck.core.points import reached
from batchdeck.core.private import make_private_folder, write_private

_log = logging.getLogger(__name__)

SPAWNS_AT_ONCE = 2
"""More make the event loop wait: a fork holds the interpreter."""

SWEEP_GRACE = 1.0
_LOOK_AGAIN = 0.05
_WATCH_AGAIN = 0.5
"""After an attempt could not be watched."""

_FOR_THE_RUNNER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "BATCHDECK_RUN")
"""All of the supervisor's environment that the runner itself gets."""


@dataclass(frozen=True, slots=True)
class _Child:
    """A runner that we started and have not taken in."""

    pid: int
    says: int
    """Descriptor on which the runner says that the agent works."""


class LocalExecutor:
    """Starts, adopts, stops and settles attempts by their folders (`runner` has the protocol)."""

    def __init__(self) -> None:
        self.spawning = anyio.CapacityLimiter(SPAWNS_AT_ONCE)
        self._children: dict[Path, int] = {}

    async def start(self, launch: Launch) -> int | None:
        """See `Executor.start`."""
        child = await anyio.to_thread.run_sync(_spawn, launch, limiter=self.spawning)
        self._children[launch.run] = child.pid
        try:
            return await _agent_pid(child.says)
        except Exception:  # noqa: BLE001 - it was started: `wait` finds out what became of it
            _log.exception("what the runner of %s says could not be heard", launch.run.name)
            return None
        finally:
            os.close(child.says)

    async def wait(self, run: Path) -> Evidence:
        """See `Executor.wait`."""
        while True:
            try:
                pid = self._children.get(run)
                if pid is not None:
                    await _until_taken_in(pid)
                    del self._children[run]
                while isinstance(found := self.evidence(run), Alive):
                    await self._until_gone(run)
            except OSError:
                _log.exception("%s could not be watched", run.name)
                await anyio.sleep(_WATCH_AGAIN)
            else:
                return found

    async def stop(self, run: Path) -> None:
        """See `Executor.stop`."""
        told = run in self._children
        if told:
            os.kill(self._children[run], signal.SIGTERM)  # not taken in yet, so nobody else's
        if run.is_dir():
            _ask_to_stop(run, told)

    def evidence(self, run: Path) -> Evidence:
        """See `Executor.evidence`."""
        return records.evidence(run)

    def fence(self, run: Path) -> bool:
        """See `Executor.fence`."""
        return records.fence(run)

    async def sweep(self, attempt: str) -> int:
        """See `Executor.sweep`; first TERM, then KILL until none is found. None without /proc."""
        first = await anyio.to_thread.run_sync(signal_marked, attempt, signal.SIGTERM)
        ended, left = set(first), first
        with anyio.move_on_after(SWEEP_GRACE):
            while left:
                await anyio.sleep(_LOOK_AGAIN)
                left = await anyio.to_thread.run_sync(signal_marked, attempt, 0)
        while left:
            left = await anyio.to_thread.run_sync(signal_marked, attempt, signal.SIGKILL)
            ended |= left
            await anyio.sleep(_LOOK_AGAIN if left else 0)
        return len(ended)

    async def _until_gone(self, run: Path) -> None:
        """Waits for a runner that is not our child, or a moment where it cannot be waited for."""
        with runner_of(records.read_started(run)) as descriptor:
            if descriptor is None:
                await anyio.sleep(_LOOK_AGAIN)
            else:
                await anyio.wait_readable(descriptor)


async def _agent_pid(says: int) -> int | None:
    """What the runner says: the agent's process id, or nothing."""
    await anyio.wait_readable(says)
    line = os.read(says, 64)
    return int(line) if line else None


async def _until_taken_in(pid: int) -> None:
    """Waits for a child's end and reaps it."""
    if HAVE_PIDFD:
        await _until_exit(pid)
    while not _take_in(pid):  # noqa: ASYNC110 - without a pidfd nothing tells
        await anyio.sleep(_LOOK_AGAIN)


async def _until_exit(pid: int) -> None:
    descriptor = os.pidfd_open(pid)
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def _take_in(pid: int) -> bool:
    """Reaps a child that has ended; whether it has."""
    try:
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    except ChildProcessError:
        return True  # by somebody else


def _ask_to_stop(run: Path, told: bool) -> None:
    """By a file and by a signal, for either may fail: a full disk, a runner that nobody can prove.

    `told`: by a signal already.
    """
    try:
        write_private(run / attempt_files.STOP)
    except OSError:
        if not ask_to_stop(records.read_started(run)) and not told:
            raise
        _log.exception("%s was asked to stop by a signal alone", run.name)
    else:
        ask_to_stop(records.read_started(run))


def _spawn(launch: Launch) -> _Child:
    """Writes the attempt's folder and starts its runner."""
    reached("folder.before")
    make_private_folder(launch.run)
    write_private(launch.run / attempt_files.SPEC, json.dumps(_spec(launch)).encode())
    reached("folder.after")
    says, told = os.pipe()
    try:
        reached("spawn.before")
        pid = _start_runner(launch, told)
        reached("spawn.after")
    except OSError:
        os.close(says)
        raise
    finally:
        os.close(told)
    return _Child(pid=pid, says=says)


def _start_runner(launch: Launch, told: int) -> int:
    run = launch.run
    argv = [sys.executable, "-I", "-S", "-X", "utf8", runner.__file__, str(run)]
    environment = {name: os.environ[name] for name in _FOR_THE_RUNNER if name in os.environ}
    environment |= handed(launch)
    log = os.open(run / attempt_files.RUNNER_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, told, 1),
        (os.POSIX_SPAWN_DUP2, log, 2),
    ]
    try:
        # elsewhere the runner makes its session itself, a moment later
        own_session = sys.platform == "linux"
        return os.posix_spawn(argv[0], argv, environment, file_actions=actions, setsid=own_session)
    finally:
        os.close(log)


def handed(launch: Launch) -> dict[str, str]:
    """The agent's variables that are not ours, and may be secrets, as the runner's have them."""
    given = launch.environment.items()
    return {attempt_files.HANDED + k: v for k, v in given if not k.startswith(attempt_files.OWN)}


def _spec(launch: Launch) -> dict[str, object]:
    return {
        "argv": launch.argv,
        "env": {k: v for k, v in launch.environment.items() if k.startswith(attempt_files.OWN)},
        "handed": [k for k in launch.environment if not k.startswith(attempt_files.OWN)],
        "cwd": str(launch.folder),
        "cwd_identity": launch.identity,
        "stdin": str(launch.stdin) if launch.stdin else None,
        "timeout_seconds": launch.timeout_seconds,
        "grace_seconds": launch.grace_seconds,
        "output_cap": launch.output_cap,
    }
