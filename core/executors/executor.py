"""The port to whatever starts agents' processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from batchdeck.core.model.turn import AttemptEnd

STOP_GRACE = 10.0
"""Seconds between TERM and KILL."""


OUTPUT_CAP = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of one agent's program."""

    run: Path
    """The attempt's folder, `runs/<id>/`; made where it is missing, mode 0700."""
    argv: tuple[str, ...]
    """`argv[0]` is an absolute path."""
    environment: Mapping[str, str]
    folder: Path
    """Absolute; where the agent starts."""
    identity: tuple[int, int] | None = None
    """Device and inode that `folder` must have; None: whichever it has."""
    stdin: Path | None = None
    """A file; None: /dev/null."""
    timeout_seconds: float | None = None
    """From the agent's start, without suspend."""
    grace_seconds: float = STOP_GRACE
    output_cap: int = OUTPUT_CAP
    """Bytes of output that take up room on the disk; beyond, the middle is left out."""


@dataclass(frozen=True, slots=True)
class SpawnFailure:
    """Why the agent's program was never loaded."""

    stage: str
    """folder, stdin, fork or exec."""
    name: str
    """The system's name of the error: ENOENT, EACCES, ESTALE (another folder stands there) …"""


@dataclass(frozen=True, slots=True)
class Record:
    """How an attempt ended, as its runner wrote it down last."""

    end: AttemptEnd
    """exited, stopped or timed out."""
    code: int | None = None
    """The agent's exit code; negative: ended by that signal; None: never started."""
    leftovers: int = 0
    seconds: float = 0.0
    spawn_failure: SpawnFailure | None = None


@dataclass(frozen=True, slots=True)
class Alive:
    """Its runner holds the lock."""

    agent: int | None = None
    """The agent's process id, where it has begun."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Its runner left a record, and no process."""

    record: Record


@dataclass(frozen=True, slots=True)
class Died:
    """It was started; its runner is gone without a record, and processes may be left."""


@dataclass(frozen=True, slots=True)
class Never:
    """It was never started."""

    fenced: bool = False
    """And never will be."""


Evidence = Alive | Ended | Died | Never


class Executor(Protocol):
    """Starts agents' programs on one host."""

    async def start(self, launch: Launch) -> int | None:
        """Starts it, and returns the agent's process id once its program is loaded.

        None: it never came to that; `wait` says why. Cancelled, it leaves what has begun running.

        Raises:
            OSError: the attempt's files could not be written, or no process be made.
        """
        ...

    async def wait(self, run: Path) -> Evidence:
        """Waits for the end of an attempt, whoever started it; returns anything but Alive.

        What fails on the way (no more open files …) is tried again: it is no end.
        """
        ...

    async def stop(self, run: Path) -> None:
        """Asks for the end of an attempt and of all its processes; does not wait for it.

        Raises:
            OSError: it could be told in no way; ask again.
        """
        ...

    def evidence(self, run: Path) -> Evidence:
        """What the attempt's folder proves, now."""
        ...

    def fence(self, run: Path) -> bool:
        """Sees to it that an attempt which was never started never is; False: it was started."""
        ...

    async def sweep(self, attempt: str) -> int:
        """Ends the processes that carry the mark of an attempt whose runner died; how many."""
        ...
