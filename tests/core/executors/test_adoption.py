"""An attempt outlives the supervisor that began it, and another one goes on with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import anyio.to_thread
import pytest

from batchdeck.core.executors import attempt_files, local, processes
from batchdeck.core.executors.executor import Alive, Ended, Record
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.turn import AttemptEnd
from tests.core.executors.support import launch, left, until

pytestmark = pytest.mark.anyio

SUPERVISOR = textwrap.dedent(
    """
    import json, sys
    from pathlib import Path
    import anyio
    from batchdeck.core.executors.executor import Launch
    from batchdeck.core.executors.local import LocalExecutor

    async def main(given):
        executor = LocalExecutor()
        await executor.start(given)
        print("started", flush=True)
        await executor.wait(given.run)

    document = json.loads(sys.argv[1])
    for name in ("run", "folder", "stdin"):
        document[name] = Path(document[name])
    anyio.run(main, Launch(**document))
    """
)


def start_under_a_supervisor_and_kill_it(
    tmp_path: Path,
    prompt: str,
    argv: tuple[str, ...] | None = None,
    ready: Callable[[], object] = lambda: True,
) -> Path:
    """`ready`: what is waited for before the supervisor is killed."""
    given = launch(tmp_path, prompt, argv=argv)
    document = {
        "run": str(given.run),
        "argv": given.argv,
        "environment": dict(given.environment),
        "folder": str(given.folder),
        "stdin": str(given.stdin),
        "grace_seconds": 0.3,
    }
    command = [sys.executable, "-c", SUPERVISOR, json.dumps(document)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"started\n"
        until(ready)
        supervisor.kill()
    return given.run


async def test_an_attempt_is_adopted_and_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    prompt = f"wait={tmp_path / 'go'} say=done exit=7"
    run = await anyio.to_thread.run_sync(start_under_a_supervisor_and_kill_it, tmp_path, prompt)
    executor = LocalExecutor()
    assert isinstance(executor.evidence(run), Alive)

    (tmp_path / "go").touch()
    found = await executor.wait(run)

    assert isinstance(found, Ended)
    assert found.record.code == 7
    assert (run / attempt_files.OUTPUT).read_text() == "done\n"


async def test_an_adopted_attempt_can_be_stopped(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    prompt = f"fork=stubborn fork=double touch={ready} sleep=600"
    run = await anyio.to_thread.run_sync(start_under_a_supervisor_and_kill_it, tmp_path, prompt)
    await anyio.to_thread.run_sync(until, ready.exists)
    executor = LocalExecutor()

    await executor.stop(run)
    found = await executor.wait(run)

    assert isinstance(found, Ended)
    assert found.record.end is AttemptEnd.STOPPED
    assert left(run.name) == []


async def test_an_adopted_attempt_can_be_stopped_where_nothing_can_be_written(
    tmp_path: Path,
) -> None:
    ready = tmp_path / "ready"
    prompt = f"touch={ready} sleep=600"
    run = await anyio.to_thread.run_sync(start_under_a_supervisor_and_kill_it, tmp_path, prompt)
    await anyio.to_thread.run_sync(until, ready.exists)
    (run / attempt_files.STOP).symlink_to(tmp_path / "nowhere" / "stop")
    executor = LocalExecutor()

    await executor.stop(run)
    found = await executor.wait(run)

    assert isinstance(found, Ended)
    assert found.record.end is AttemptEnd.STOPPED


async def test_a_stop_that_reaches_nobody_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await anyio.to_thread.run_sync(
        start_under_a_supervisor_and_kill_it, tmp_path, "sleep=600"
    )
    stop = run / attempt_files.STOP
    stop.symlink_to(tmp_path / "nowhere" / "stop")
    executor = LocalExecutor()

    with monkeypatch.context() as patched:
        patched.setattr(processes, "HAVE_PIDFD", False)
        with pytest.raises(OSError, match="No such file"):
            await executor.stop(run)

    await executor.stop(run)
    assert isinstance(await executor.wait(run), Ended)


async def test_an_attempt_that_ended_meanwhile_is_settled_by_its_record(tmp_path: Path) -> None:
    run = await anyio.to_thread.run_sync(start_under_a_supervisor_and_kill_it, tmp_path, "exit=2")

    found = await LocalExecutor().wait(run)

    assert isinstance(found, Ended)
    assert found.record == Record(AttemptEnd.EXITED, 2, seconds=found.record.seconds)


async def test_a_runner_has_nothing_of_its_supervisor_open(tmp_path: Path) -> None:
    executor = LocalExecutor()
    leak = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leak, True)
    given = launch(tmp_path, "sleep=600")
    await executor.start(given)
    started = json.loads((given.run / attempt_files.STARTED).read_text())

    held = {os.readlink(path) for path in Path(f"/proc/{started['runner']}/fd").iterdir()}

    os.close(leak)
    assert str(tmp_path) not in held
    assert os.readlink(f"/proc/{started['runner']}/cwd") == "/"
    await executor.stop(given.run)
    await executor.wait(given.run)


@pytest.fixture
def without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system that has none."""
    monkeypatch.setattr(processes, "HAVE_PIDFD", False)
    monkeypatch.setattr(local, "HAVE_PIDFD", False)


@pytest.mark.usefixtures("without_pidfd")
async def test_without_pidfd_an_attempt_is_awaited_all_the_same(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "exit=3")

    await executor.start(given)
    found = await executor.wait(given.run)

    assert isinstance(found, Ended)
    assert found.record.code == 3


@pytest.mark.usefixtures("without_pidfd")
async def test_without_pidfd_an_adopted_attempt_stops_by_its_file(tmp_path: Path) -> None:
    run = await anyio.to_thread.run_sync(
        start_under_a_supervisor_and_kill_it, tmp_path, "sleep=600"
    )
    executor = LocalExecutor()

    await executor.stop(run)
    found = await executor.wait(run)

    assert isinstance(found, Ended)
    assert found.record.end is AttemptEnd.STOPPED
