"""A deck that was closed leaves no thread, no task and no open file behind, and says nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CLOSED = """
import os, sys, threading
from pathlib import Path
import anyio
from batchdeck.core.commands import AddBatch
from batchdeck.core.model.spec import TaskSpec
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

async def main(folder):
    async with bench(folder) as here:
        tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a")]
        await here.add(batch_spec("b", tasks, [demo_agent("a")]))
        await here.end(1)
        if "raises" in sys.argv:
            raise RuntimeError("a fault of ours")
        await here.until(lambda view: view.live)

before = len(os.listdir("/dev/fd"))
try:
    anyio.run(main, Path(sys.argv[1]))
except* RuntimeError:
    pass
others = [one for one in threading.enumerate() if one is not threading.main_thread()]
for one in others:
    one.join(5)
left = [one.name for one in others if one.is_alive()]
print(left, len(os.listdir("/dev/fd")) - before)
"""


def closed(tmp_path: Path, *how: str) -> tuple[str, str]:
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", CLOSED, str(tmp_path), *how],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return ran.stdout.strip(), ran.stderr


def test_after_a_deck_nothing_is_left(tmp_path: Path) -> None:
    assert closed(tmp_path) == ("[] 0", "")


def test_after_a_fault_within_it_nothing_is_left_either(tmp_path: Path) -> None:
    assert closed(tmp_path, "raises") == ("[] 0", "")
