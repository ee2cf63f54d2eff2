"""An ACP agent's process: started in a session of its own, and left with all that is in it."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from batchdeck.core.executors import attempt_files, process_tree
from batchdeck.core.executors.executor import Launch
from batchdeck.core.executors.processes import OwnSession

_log = logging.getLogger(__name__)

LEAVE_SECONDS = 3.0
"""The longest that leaving a process takes, whatever it does."""
GRACE_SECONDS = 1.0
"""Between TERM and KILL."""
_LOOK_AGAIN = 0.05


async def start_process(launch: Launch) -> anyio.abc.Process:
    """Starts it, and notes it for a later supervisor. Raises OSError where it was not started."""
    process = await anyio.open_process(
        list(launch.argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=launch.folder,
        env=dict(launch.environment),
        start_new_session=True,
    )
    await anyio.to_thread.run_sync(_note, launch.run, process.pid)
    return process


def _note(run: Path, pid: int) -> None:
    ticks, boot = process_tree.start_ticks(pid), process_tree.boot_id()
    document = {"agent": pid, "agent_ticks": ticks, "boot_id": boot}
    try:
        attempt_files.write_json(str(run / attempt_files.AGENT), document, durable=False)
    except OSError:
        _log.exception("process %d could not be noted", pid)


async def end_noted(run: Path) -> int:
    """Ends a process that outlived its supervisor, with its session; how many that were.

    Only where it is proven to be the one that was noted.
    """
    try:
        noted = attempt_files.read_json(str(run / attempt_files.AGENT))
    except (OSError, ValueError):
        return 0
    pid, ticks = noted["agent"], noted["agent_ticks"]
    if noted["boot_id"] != process_tree.boot_id() or ticks is None:
        return 0
    if process_tree.start_ticks(pid) != ticks:
        return 0
    session = OwnSession(pid)
    with anyio.move_on_after(LEAVE_SECONDS):
        await _signal(session, signal.SIGTERM)
        await _end_session(session)
    return session.count


async def leave(process: anyio.abc.Process, *endings: Callable[[], Awaitable[object]]) -> bool:
    """Ends a process with its session and what is below it, known by its mark or not.

    Shielded, and never longer than `LEAVE_SECONDS`. Returns whether it has ended: another user's
    (`sudo`) cannot be.

    Args:
        endings: What else is to be carried out meanwhile, within the same time.
    """
    session = OwnSession(process.pid)
    with anyio.move_on_after(LEAVE_SECONDS, shield=True):
        # before its input ends and it goes: what is below it is found by it
        await _carry_out(partial(_signal, session, signal.SIGTERM))
        async with anyio.create_task_group() as ending:
            for end in endings:
                ending.start_soon(_carry_out, end)
            await _carry_out(partial(_end_session, session))
            await process.wait()
    if process.returncode is None:
        _let_go(process)
        return False
    with anyio.CancelScope(shield=True):
        await process.aclose()
    return True


async def _carry_out(end: Callable[[], Awaitable[object]]) -> None:
    try:
        await end()
    except Exception:  # noqa: BLE001 - whatever it is, the rest is ended all the same
        _log.exception("a process could not be left in order")


async def _end_session(session: OwnSession) -> None:
    """After a grace KILL, until nothing of a session is left."""
    left = await _signal(session, 0)
    with anyio.move_on_after(GRACE_SECONDS):
        while left:
            await anyio.sleep(_LOOK_AGAIN)
            left = await _signal(session, 0)
    while left:
        left = await _signal(session, signal.SIGKILL)
        await anyio.sleep(_LOOK_AGAIN if left else 0)


async def _signal(session: OwnSession, number: int) -> set[int]:
    return await anyio.to_thread.run_sync(session.signal, number)


def _let_go(process: anyio.abc.Process) -> None:
    """Gives up a process that cannot be ended, such as another user's; its pipes are closed."""
    _log.error("process %d cannot be ended, and is left behind", process.pid)
    # `aclose` would wait for its end for as long as that takes
    transport = getattr(process, "_transport", None)
    with contextlib.suppress(PermissionError):
        if transport is not None:
            transport.close()
