"""A deck on a disk of next to nothing: what does not fit is said, and what ends is recorded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.workspace import COMMAND, Workspace, workspaces

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]
MOUNT = 'mount -t tmpfs -o size="$1" none .batchdeck && shift && exec "$@"'
FILLS = """
import os
full = os.open(os.environ["HERE"] + "/full", os.O_WRONLY | os.O_CREAT)
try:
    while os.write(full, bytes(4096)):
        pass
except OSError:
    os._exit(0)
"""


def may_mount() -> bool:
    if shutil.which("unshare") is None or sys.platform != "linux":
        return False
    mount = [*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(mount, capture_output=True).returncode == 0


pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(not may_mount(), reason="nothing may be mounted here"),
]


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    for space in workspaces(tmp_path):
        space.deck.mkdir(mode=0o700)
        yield space


def on_a_disk_of(size: str, space: Workspace, *commands: str) -> subprocess.CompletedProcess[str]:
    """Runs shell commands where the deck's folder is a disk of its own; the deck goes with it."""
    script = "\n".join(commands).replace("batchdeck ", f"{COMMAND} ")
    return subprocess.run(
        [*UNSHARE, "sh", "-c", MOUNT, "sh", size, "sh", "-c", script],
        cwd=space.folder,
        env=space.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("size", ["4k", "64k", "120k", "200k"])
def test_a_disk_too_small_for_a_deck_is_said_in_words(size: str, space: Workspace) -> None:
    file = space.batch(tasks=[{"id": "T1", "agent": "coder", "prompt": "say=x"}])
    told = on_a_disk_of(size, space, f"batchdeck run {file} --headless")
    assert told.returncode not in (0, 5), told
    assert "Traceback" not in told.stderr
    assert "full" in told.stderr or "No space" in told.stderr, told.stderr
    assert space.starts() == [], "what could not be recorded was not begun"


def test_an_agent_that_fills_the_disk_ends_and_is_recorded_when_there_is_room(
    space: Workspace,
) -> None:
    filler = {
        "command": [sys.executable, "-I", "-S", "-c", FILLS],
        "env": {"HERE": str(space.deck)},
    }
    tasks = [{"id": "FILL", "agent": "filler", "prompt": "x"}]
    tasks += [{"id": f"T{n}", "agent": "coder", "prompt": "say=x"} for n in range(3)]
    file = space.batch(agents={"filler": filler, "coder": {}}, max_parallel=1, tasks=tasks)
    told = on_a_disk_of(
        "3m",
        space,
        f"batchdeck run {file} --headless & run=$!",
        "while [ ! -s .batchdeck/full ]; do sleep 0.05; done",
        "sleep 2; cat .batchdeck/runs/*/exit.json; rm .batchdeck/full; wait $run; echo code $?",
        "batchdeck tasks --json; batchdeck doctor --json",
    )
    assert "Traceback" not in told.stderr
    assert '"end": "exited", "code": 0' in told.stdout, "its room was taken before"
    assert "code 0" in told.stdout, told
    assert told.stdout.count('"DONE"') == 4, told.stdout
    assert space.starts() == ["T0", "T1", "T2"]
