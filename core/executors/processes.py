"""Processes that are proven to be ours before anything is sent to them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from batchdeck.core.executors import process_tree

MARK = "BATCHDECK_RUN"
"""The variable by which the processes of an attempt are known."""

HAVE_PIDFD = hasattr(os, "pidfd_open")
_OVER = (b"Z", b"X")
"""States of processes that have ended and are still listed (proc(5))."""


@contextmanager
def runner_of(started: Mapping[str, Any] | None) -> Iterator[int | None]:
    """A descriptor of the runner that wrote `started`; None where it is gone, or cannot be proven.

    The descriptor is bound before the boot and the start time are compared with the record, so a
    process that got the same number later is never taken for it.
    """
    descriptor = _open(started["runner"]) if started else None
    if started is None or descriptor is None:
        yield None
        return
    try:
        proven = (
            started["boot_id"] == process_tree.boot_id()
            and started["runner_ticks"] is not None
            and started["runner_ticks"] == process_tree.start_ticks(started["runner"])
        )
        yield descriptor if proven else None
    finally:
        os.close(descriptor)


def ask_to_stop(started: Mapping[str, Any] | None) -> bool:
    """Sends TERM to a runner, where it is proven to be the one that wrote `started`; whether it is.

    Where the system has no pidfd (macOS) nothing is sent: the runner finds the `stop` file within
    a second.
    """
    with runner_of(started) as descriptor:
        if descriptor is not None:
            _send(descriptor, signal.SIGTERM)
        return descriptor is not None


def signal_marked(attempt: str, number: int) -> set[int]:
    """Signals every process that carries the mark of an attempt (0: none); returns their ids.

    Without /proc or pidfd (macOS) it finds none.
    """
    return {pid for pid in _candidates() if _signal_if_marked(pid, attempt, number)}


class OwnSession:
    """A session that we began: its processes, and those that were ever seen below its leader.

    Without /proc or pidfd (macOS) it is the leader's group.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._seen: dict[int, int] = {}
        """By process id, when it started, so that it is known when its parent has ended."""

    @property
    def count(self) -> int:
        """How many of its processes have been seen."""
        return len(self._seen)

    def signal(self, number: int) -> set[int]:
        """Signals all of them (0: none); the ids of those that are alive, signalled or not."""
        if not HAVE_PIDFD or not os.path.isdir("/proc/self"):
            return _signal_group(self._leader, number)
        self._look()  # at all of them, before the first has gone and left its children to others
        return {pid for pid, ticks in self._seen.items() if _signal_if_began(pid, ticks, number)}

    def _look(self) -> None:
        below = process_tree.descendants(self._leader)
        for pid in _candidates():
            fields = process_tree.process_fields(pid)
            if not fields or fields[0] in _OVER:
                continue
            if int(fields[3]) == self._leader or int(fields[1]) == below.get(pid):
                self._seen[pid] = int(fields[19])


def _signal_if_began(pid: int, ticks: int, number: int) -> bool:
    """Signals a process that began then; whether it is alive."""
    descriptor = _open(pid)
    if descriptor is None:
        return False
    try:
        # read with the descriptor bound: a number may have been given away meanwhile
        fields = process_tree.process_fields(pid)
        if not fields or fields[0] in _OVER or int(fields[19]) != ticks:
            return False
        _send(descriptor, number)
        return True
    finally:
        os.close(descriptor)


def _signal_group(leader: int, number: int) -> set[int]:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return set()
    except PermissionError:
        return {leader}
    return {leader}


def marks() -> Counter[str]:
    """How many processes carry the mark of each attempt. None without /proc (macOS)."""
    found: Counter[str] = Counter()
    for pid in _candidates():
        mark = _mark_of(pid)
        if mark is not None:
            found[mark] += 1
    return found


def _mark_of(pid: int) -> str | None:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    prefix = f"{MARK}=".encode()
    for variable in environment.split(b"\0"):
        if variable.startswith(prefix):
            return variable[len(prefix) :].decode("ascii", "replace")
    return None


def _signal_if_marked(pid: int, attempt: str, number: int) -> bool:
    if not _is_marked(pid, attempt):
        return False
    descriptor = _open(pid)
    if descriptor is None:
        return False
    try:
        if not _is_marked(pid, attempt):  # again, now that the number cannot change hands
            return False
        _send(descriptor, number)
        return True
    finally:
        os.close(descriptor)


def _candidates() -> list[int]:
    if not HAVE_PIDFD or not os.path.isdir("/proc/self"):
        return []
    own = {1, os.getpid(), os.getppid()}
    return [pid for name in os.listdir("/proc") if name.isdigit() and (pid := int(name)) not in own]


def _is_marked(pid: int, attempt: str) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{MARK}={attempt}".encode() in environment.split(b"\0")


def _open(pid: int) -> int | None:
    if not HAVE_PIDFD:
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _send(descriptor: int, number: int) -> None:
    try:
        signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        return
