"""What an attempt's folder proves about the attempt."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import (
    Alive,
    Died,
    Ended,
    Evidence,
    Never,
    Record,
    SpawnFailure,
)
from batchdeck.core.executors.processes import signal_marked
from batchdeck.core.model.turn import AttemptEnd
from batchdeck.core.points import reached
from batchdeck.core.private import make_private_folder, write_private


def evidence(run: Path) -> Evidence:
    """Looks at the lock first and at the files under it, so that nothing changes in between.

    Of a folder that somebody removed, only processes with the attempt's mark can tell anything.
    """
    if not run.is_dir():
        return Died() if signal_marked(run.name, 0) else Never()
    with _lock(run) as ours:
        if not ours:
            return Alive(agent=_agent(run))
        record = read_record(run)
        if record is not None:
            return Ended(record)
        if (run / attempt_files.STARTED).exists() or (run / attempt_files.EXIT).exists():
            return Died()
        return Never(fenced=(run / attempt_files.FENCED).exists())


def fence(run: Path) -> bool:
    """Writes `fenced` under the lock, unless the attempt has begun; may be repeated."""
    if not run.is_dir() and signal_marked(run.name, 0):
        return False
    make_private_folder(run)
    with _lock(run) as ours:
        if (
            not ours
            or (run / attempt_files.STARTED).exists()
            or (run / attempt_files.EXIT).exists()
        ):
            return False
        write_private(run / attempt_files.FENCED)
        reached("fenced")
        return True


def read_started(run: Path) -> Mapping[str, Any] | None:
    """Who runs it, as the runner wrote it down; None where it has not yet, or it cannot be read."""
    return _read(run / attempt_files.STARTED)


def read_record(run: Path) -> Record | None:
    """The runner's last word; None where there is none, or it was cut by a loss of power."""
    document = _read(run / attempt_files.EXIT)
    if document is None or document.get("end") not in set(AttemptEnd):
        return None
    failure = document["spawn_error"]
    return Record(
        end=AttemptEnd(document["end"]),
        code=document["code"],
        leftovers=document["leftovers"],
        seconds=document["seconds"],
        spawn_failure=SpawnFailure(failure["stage"], failure["name"]) if failure else None,
    )


def _agent(run: Path) -> int | None:
    started = read_started(run)
    return started["agent"] if started else None


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        return attempt_files.read_json(str(path))
    except (OSError, ValueError):
        return None


@contextmanager
def _lock(run: Path) -> Iterator[bool]:
    """Holds the attempt's lock where it is free; says whether it was."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(run / attempt_files.LOCK, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)
