"""The lock that makes one process the supervisor of a deck; the kernel frees it with its holder."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from batchdeck.core.errors import BadInput, DeckHeld

LOOKS = 5
"""How often in a row a supervisor is seen to hold it before that is believed."""
COMMAND_SECONDS = 5.0
"""How long a command on a deck without a supervisor may hold it."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a deck."""

    pid: int
    host: str
    supervisor: bool = True
    """It dispatches; False: a command that holds the deck for a moment."""


@asynccontextmanager
async def held(path: Path, *, supervisor: bool) -> AsyncIterator[None]:
    """Holds the deck's lock; waits a little for a command that only passes through.

    Raises:
        DeckHeld: another supervisor holds it; the message names it.
    """
    descriptor = _open(path)
    try:
        with anyio.move_on_after(COMMAND_SECONDS):
            # a lock of another process tells nobody when it is free
            while not (taken := _taken(descriptor)) and not await _is_held_for_good(path):
                await anyio.sleep(0.02)
        if not taken and not _taken(descriptor):
            raise DeckHeld(_words(_read(path)))
        _write(descriptor, supervisor)
        yield
    finally:
        os.close(descriptor)


async def _is_held_for_good(path: Path) -> bool:
    """Whether a supervisor has it, and not somebody who only looks who does, for a moment."""
    for _ in range(LOOKS):
        if holder(path) is None:
            return False
        await anyio.sleep(0.01)
    found = _read(path)
    return found is not None and found.supervisor


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(path: Path) -> Holder | None:
    """Who holds the deck at this moment; None: nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        found = _read(path) or Holder(0, "")
        return found if found.supervisor else None
    finally:
        os.close(descriptor)
    return None


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BadInput(f"{path} cannot be opened: {error.strerror}.") from error


def _write(descriptor: int, supervisor: bool) -> None:
    os.fchmod(descriptor, 0o600)
    os.ftruncate(descriptor, 0)
    document = {"pid": os.getpid(), "host": socket.gethostname(), "supervisor": supervisor}
    os.pwrite(descriptor, json.dumps(document).encode(), 0)


def _read(path: Path) -> Holder | None:
    try:
        document = json.loads(path.read_text("utf-8"))
        return Holder(int(document["pid"]), str(document["host"]), bool(document["supervisor"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _words(found: Holder | None) -> str:
    if found is None:
        return "This deck is held by another supervisor."
    return (
        f"This deck is held by another supervisor: process {found.pid} on {found.host}. "
        "Use its dashboard, or commands such as status, send and limit."
    )
