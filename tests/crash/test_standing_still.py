"""A supervisor that stands still, and agents that say nothing: nothing is begun a second time."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.support.length import so_many
from tests.support.workspace import Workspace, until

pytestmark = pytest.mark.crash

STILL_SECONDS = so_many(7.0, 60.0)
"""Longer than a sweep, and than every number in the batch file."""


def test_nothing_begins_again_because_nobody_said_or_did_anything_for_long(
    space: Workspace,
) -> None:
    agents = {"coder": {"parallelism_limit": 2, "quiet_seconds": 0.5, "linger_seconds": 0.5}}
    tasks = [{"id": f"T{n}", "agent": "coder", "prompt": space.until_told("go")} for n in range(2)]
    tasks += [{"id": f"N{n}", "agent": "coder", "prompt": "say=done"} for n in range(2)]
    file = space.batch(agents=agents, tasks=tasks, reconciliation_interval_seconds=1)
    process = space.start_run(file, begun=2)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(STILL_SECONDS)
    os.kill(process.pid, signal.SIGCONT)
    until(lambda: space.run("status", "--json", code=0).json["running"] == 2)
    assert sorted(space.starts()) == ["T0", "T1"]
    space.tell("go")
    assert process.wait(30) == 0
    assert sorted(space.starts()) == ["N0", "N1", "T0", "T1"]
