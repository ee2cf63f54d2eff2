"""Files that may not grow: it is said, nothing is begun unrecorded, and later it goes on."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.workspace import Workspace

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform != "linux", reason="another process's limits are Linux's"),
]
TASKS = [f"T{n}" for n in range(40)]
QUIETLY = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python would leave a module's cache cut off, for others to fail on."""


@contextmanager
def files_may_grow_to(kilobytes: int) -> Iterator[None]:
    """Whoever is started meanwhile gets this limit (RLIMIT_FSIZE)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def batch(space: Workspace) -> Path:
    tasks = [{"id": name, "agent": "coder", "prompt": "say=x"} for name in TASKS]
    return space.batch(max_parallel=2, agents={"coder": {"parallelism_limit": 2}}, tasks=tasks)


def raise_limit(process: subprocess.Popen[bytes]) -> None:
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)


@pytest.mark.parametrize("kilobytes", [1, 64, 200])
def test_a_limit_too_low_for_a_deck_is_said_in_words(kilobytes: int, space: Workspace) -> None:
    file = batch(space)
    with files_may_grow_to(kilobytes):
        ended = space.run("run", file, "--headless", code=1, env=QUIETLY)
    assert "may not grow" in ended.err, ended.err
    assert len(ended.err.splitlines()) == 1, ended.err
    assert space.starts() == [], "what could not be recorded was not begun"


@pytest.mark.parametrize("kilobytes", [440, 520, 700, 900])
def test_when_the_limit_is_raised_again_what_was_interrupted_is_recorded_once(
    kilobytes: int, space: Workspace
) -> None:
    with files_may_grow_to(kilobytes):
        process = space.start("run", batch(space), "--headless", env=QUIETLY)
    space.while_runs(process, lambda: "may not grow" in (space.folder / "err.txt").read_text())
    assert len(space.starts()) < len(TASKS)
    raise_limit(process)
    assert process.wait(120) == 0
    assert sorted(space.starts()) == sorted(TASKS), "each began once"
    assert [task.status for task in space.view().tasks.values()] == ["DONE"] * len(TASKS)
