"""Processes by what the kernel says of them: who they are, who is below whom, and signals to those.

It stands alone, as the runner does, which owns the tree of its agent.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:  # `signal` imports enum, which costs as much again as the interpreter itself
    import _signal as signal


def process_fields(pid: int) -> list[bytes] | None:
    """State, parent, … of a process (`proc(5)`, stat from its third field on); None: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None where that cannot be known."""
    fields = process_fields(pid)
    return int(fields[19]) if fields else None


def boot_id() -> str | None:
    """Which boot of the machine this is; None where that cannot be known."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return None


def descendants(root: int) -> dict[int, int]:
    """Living processes below `root`, each with its parent, those that changed session included."""
    if not os.path.isdir("/proc/self"):
        return {}
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        fields = process_fields(int(name)) if name.isdigit() else None
        if fields and fields[0] not in (b"Z", b"X"):
            below.setdefault(int(fields[1]), []).append(int(name))
    found: dict[int, int] = {}
    generation = [root]
    while generation:
        parent = generation.pop()
        for pid in below.get(parent, ()):
            found[pid] = parent
            generation.append(pid)
    return found


def send(pid: int, parent: int, number: int) -> None:
    """Signals a process, provided that it is still the child of `parent`.

    One that we may not signal (root's, by sudo) is left as it is.
    """
    if not hasattr(os, "pidfd_open"):
        if parent == os.getpid():
            _kill(pid, number)
        return
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return
    try:
        # the descriptor is bound first: a pid that has been given away meanwhile is not its child
        fields = process_fields(pid)
        if fields and int(fields[1]) == parent:
            signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        os.close(descriptor)


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def prctl(option: int, value: int) -> None:
    """Linux's prctl(2). Raises OSError where it failed; does nothing elsewhere."""
    if sys.platform != "linux":
        return
    import _ctypes  # the part of ctypes that starts fast

    libc = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    arguments = (option, value, 0, 0, 0)
    if _ctypes.call_cdeclfunction(_ctypes.dlsym(libc, "prctl"), arguments) != 0:
        raise OSError(errno.EINVAL, f"prctl({option})")
