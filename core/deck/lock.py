"""The lock that makes one process the supervisor of a deck; the kernel frees it with its holder."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from batchdeck.core.errors import BadInput, DeckHeld


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a deck."""

    pid: int
    host: str


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Holds the deck's lock.

    Raises:
        DeckHeld: another process holds it; the message names it.
    """
    descriptor = _open(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DeckHeld(_words(_read(path))) from None
        _write(descriptor)
        yield
    finally:
        os.close(descriptor)


def holder(path: Path) -> Holder | None:
    """Who holds the deck at this moment; None: nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(path) or Holder(0, "")
    finally:
        os.close(descriptor)
    return None


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BadInput(f"{path} cannot be opened: {error.strerror}.") from error


def _write(descriptor: int) -> None:
    os.fchmod(descriptor, 0o600)
    os.ftruncate(descriptor, 0)
    document = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
    os.pwrite(descriptor, document.encode(), 0)


def _read(path: Path) -> Holder | None:
    try:
        document = json.loads(path.read_text("utf-8"))
        return Holder(int(document["pid"]), str(document["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _words(found: Holder | None) -> str:
    if found is None:
        return "This deck is held by another supervisor."
    return (
        f"This deck is held by another supervisor: process {found.pid} on {found.host}. "
        "Use its dashboard, or commands such as status, send and limit."
    )
