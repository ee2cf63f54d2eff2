"""The zoo: fourteen nasty agents, each through every way an attempt can end; nothing is left.

Beside each stands a process that carries another attempt's mark: nothing unrelated is touched.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from batchdeck.core.executors.executor import Ended, Launch
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.turn import AttemptEnd
from tests.core.executors.support import environment, launch, left, until
from tests.core.executors.test_adoption import start_under_a_supervisor_and_kill_it

pytestmark = [pytest.mark.anyio, pytest.mark.crash]

_BEGIN = """
import os, resource, signal, subprocess, sys, time
def ready():
    open(sys.argv[1], "w").close()
def last():
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
"""

ZOO = {
    "forks a child": """
        subprocess.Popen(["sleep", "600"]); ready(); last()
    """,
    "gives its child a session": """
        subprocess.Popen(["sleep", "600"], start_new_session=True); ready(); last()
    """,
    "forks twice and is forgotten": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                ready(); time.sleep(600)
            os._exit(0)
        os.wait(); last()
    """,
    "starts a child under nohup": """
        nowhere = subprocess.DEVNULL
        subprocess.Popen(["nohup", "sleep", "600"], stdout=nowhere, stderr=nowhere)
        ready(); last()
    """,
    "does not hear TERM": """
        signal.signal(signal.SIGTERM, signal.SIG_IGN); ready(); last()
    """,
    "has a child that does not hear TERM": """
        subprocess.Popen([sys.executable, "-I", "-S", "-c",
            "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
        ready(); last()
    """,
    "stops itself": """
        child = subprocess.Popen(["sleep", "600"])
        os.kill(child.pid, signal.SIGSTOP); ready(); last()
    """,
    "forks as fast as it may": """
        def breed():
            for _ in range(40):
                try:
                    if os.fork() == 0:
                        time.sleep(600)
                except OSError:
                    return
        breed(); ready(); last()
    """,
    "waits for input that never comes": """
        ready(); sys.stdin.read(); sys.stdin.buffer.raw.read(1); last()
    """,
    "closes its output": """
        subprocess.Popen(["sleep", "600"]); os.close(1); os.close(2); ready(); last()
    """,
    "says nothing": """
        ready(); last()
    """,
    "ends by a signal": """
        subprocess.Popen(["sleep", "600"]); ready(); last(); os.kill(os.getpid(), signal.SIGSEGV)
    """,
    "leaves a zombie": """
        if os.fork() == 0:
            os._exit(0)
        subprocess.Popen(["sleep", "600"]); ready(); last()
    """,
    "removes the folder it stands in": """
        os.mkdir("own"); os.chdir("own"); os.rmdir(os.getcwd())
        subprocess.Popen(["sleep", "600"]); ready(); last()
    """,
}


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    return tmp_path / "ready"


@pytest.fixture
def go(tmp_path: Path) -> Path:
    return tmp_path / "go"


@contextmanager
def bystander() -> Iterator[None]:
    """A process of another attempt; it must live on."""
    marked = environment("another-attempt")
    with subprocess.Popen(["sleep", "600"], env={**os.environ, **marked}) as process:
        try:
            yield
            assert process.poll() is None, "a process of another attempt was ended"
        finally:
            process.send_signal(signal.SIGKILL)


def command(name: str, ready: Path, go: Path) -> tuple[str, ...]:
    code = _BEGIN + textwrap.dedent(ZOO[name])
    return (sys.executable, "-I", "-S", "-c", code, str(ready), str(go))


async def begun(executor: LocalExecutor, given: Launch, ready: Path) -> None:
    await executor.start(given)
    await anyio.to_thread.run_sync(until, ready.exists)


async def ended(executor: LocalExecutor, run: Path) -> AttemptEnd:
    """How it ended; nothing is left of it then."""
    found = await executor.wait(run)
    assert isinstance(found, Ended)
    assert left(run.name) == []
    return found.record.end


@pytest.mark.parametrize("name", ZOO)
async def test_one_that_ends_by_itself_leaves_nothing(
    name: str, tmp_path: Path, ready: Path, go: Path
) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "", argv=command(name, ready, go), grace_seconds=0.2)
    with bystander():
        await begun(executor, given, ready)
        go.touch()
        assert await ended(executor, given.run) is AttemptEnd.EXITED


@pytest.mark.parametrize("name", ZOO)
async def test_one_that_is_stopped_leaves_nothing(
    name: str, tmp_path: Path, ready: Path, go: Path
) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "", argv=command(name, ready, go), grace_seconds=0.2)
    with bystander():
        await begun(executor, given, ready)
        await executor.stop(given.run)
        assert await ended(executor, given.run) is AttemptEnd.STOPPED


@pytest.mark.parametrize("name", ZOO)
async def test_one_whose_time_is_up_leaves_nothing(
    name: str, tmp_path: Path, ready: Path, go: Path
) -> None:
    executor = LocalExecutor()
    argv = command(name, ready, go)
    given = launch(tmp_path, "", argv=argv, grace_seconds=0.2, timeout_seconds=0.5)
    with bystander():
        await executor.start(given)
        assert await ended(executor, given.run) is AttemptEnd.TIMED_OUT


@pytest.mark.parametrize("name", ZOO)
async def test_one_whose_supervisor_was_killed_is_ended_by_the_next(
    name: str, tmp_path: Path, ready: Path, go: Path
) -> None:
    def outlive() -> Path:
        argv = command(name, ready, go)
        return start_under_a_supervisor_and_kill_it(tmp_path, "", argv, ready.exists)

    with bystander():
        run = await anyio.to_thread.run_sync(outlive)
        assert left(run.name), "it has outlived its supervisor"
        executor = LocalExecutor()
        await executor.stop(run)
        assert await ended(executor, run) is AttemptEnd.STOPPED
