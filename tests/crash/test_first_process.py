"""As the first process of a namespace, as in a container, a supervisor leaves no zombies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from batchdeck.core.executors.process_tree import process_fields
from tests.support.workspace import COMMAND, Workspace, until

UNSHARE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def may_unshare() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0


pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(not may_unshare(), reason="no namespaces may be made here"),
]
KILLS_ITS_RUNNER = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
os.kill(os.getppid(), 9)
time.sleep(60)
"""


def children(parent: int) -> dict[int, bytes]:
    """Each child of a process, and its state."""
    found = {}
    for entry in Path("/proc").iterdir():
        fields = process_fields(int(entry.name)) if entry.name.isdigit() else None
        if fields and int(fields[1]) == parent:
            found[int(entry.name)] = fields[0]
    return found


def test_orphans_of_agents_and_of_killed_runners_are_taken_in(space: Workspace) -> None:
    killer = {
        "command": [sys.executable, "-I", "-S", "-c", KILLS_ITS_RUNNER],
        "parallelism_limit": 4,
    }
    agents = {"coder": {"parallelism_limit": 4}, "killer": killer}
    tasks = [{"id": f"T{n}", "agent": "coder", "prompt": "fork=double exit=0"} for n in range(8)]
    tasks += [{"id": f"K{n}", "agent": "killer", "prompt": "x"} for n in range(4)]
    tasks.append({"id": "LAST", "agent": "coder", "prompt": space.until_told("go")})
    file = space.batch(agents=agents, tasks=tasks)
    command = [*UNSHARE, str(COMMAND), "run", str(file), "--headless", "--on-lost", "fail"]
    with subprocess.Popen(command, cwd=space.folder, env=space.environment) as outer:
        try:
            until(lambda: "LAST" in space.starts())
            until(lambda: space.view().queued == 0 and space.view().running == 1)
            (first,) = children(outer.pid)
            (worker,) = [pid for pid in children(first) if children(pid)]
            until(lambda: len(children(first)) == 1)
            assert len(children(worker)) == 1, "the last one's runner"
        finally:
            space.tell("go")
            try:
                code = outer.wait(20)
            finally:
                outer.send_signal(signal.SIGKILL)
    assert code == 5
    assert space.starts().count("LAST") == 1


def test_a_signal_reaches_the_worker_once_and_its_exit_code_comes_out(space: Workspace) -> None:
    task = {"id": "LAST", "agent": "coder", "prompt": space.until_told("go")}
    file = space.batch(agents={"coder": {}}, tasks=[task])
    command = [*UNSHARE, str(COMMAND), "run", str(file), "--headless"]
    with subprocess.Popen(command, cwd=space.folder, env=space.environment) as outer:
        try:
            until(lambda: "LAST" in space.starts())
            (first,) = children(outer.pid)
            os.kill(first, signal.SIGINT)
            until(lambda: space.run("status", "--json", code=0).json["mode"] == "draining")
            assert outer.poll() is None, "the first INT drains"
            space.tell("go")
            assert outer.wait(20) == 128 + signal.SIGINT
        finally:
            outer.send_signal(signal.SIGKILL)
