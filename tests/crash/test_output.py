"""Bytes that are no text end no attempt and no supervisor."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

from tests.crash.harness import Supervisor, leave_nothing, program_under_test
from tests.crash.workload import Workload
from tests.support.length import so_many
from tests.support.workspace import Workspace, until

pytestmark = pytest.mark.crash


def test_agents_that_write_random_bytes_run_to_their_end() -> None:
    with tempfile.TemporaryDirectory(prefix="batchdeck-crash-") as folder:
        root = Path(folder)
        (root / "home").mkdir()
        (root / "ledger").touch()
        noisy = ["/bin/sh", "-c", "head -c 300000 /dev/urandom; printf '\\377\\376 end\\n'"]
        document = {
            "name": "noise",
            "agents": {"noisy": {"kind": "command", "command": noisy, "output": "text"}},
            "tasks": [{"id": f"T{n}", "agent": "noisy", "prompt": "x"} for n in range(4)],
        }
        (root / "batch.yaml").write_text(json.dumps(document))
        load = Workload(root, (), {})
        try:
            assert Supervisor(load, program_under_test()).end() == 0, (root / "errors").read_text()
        finally:
            leave_nothing(load)


TALKERS = 8
LINES_A_SECOND = 10_000
SECONDS = so_many(3, 60)
TALKS = f"""
import sys, time
for tenth in range({SECONDS} * 10):
    sys.stdout.write(("x" * 99 + "\\n") * ({LINES_A_SECOND} // 10))
    sys.stdout.flush()
    time.sleep(0.1)
"""


def test_much_output_is_written_once_and_stands_before_no_claim(space: Workspace) -> None:
    talker = {"command": [sys.executable, "-I", "-S", "-c", TALKS], "parallelism_limit": TALKERS}
    tasks = [{"id": f"TALK{n}", "agent": "talker", "prompt": "x"} for n in range(TALKERS)]
    tasks += [{"id": f"T{n}", "agent": "coder", "prompt": "say=x"} for n in range(20)]
    tasks.append({"id": "LAST", "agent": "other", "prompt": space.until_told("go")})
    agents = {"talker": talker, "coder": {}, "other": {}}
    file = space.batch(agents=agents, tasks=tasks, max_parallel=TALKERS + 2)
    process = space.start_run(file, begun=2)
    until(lambda: space.view().running == 1, SECONDS + 30)
    counted = Path(f"/proc/{process.pid}/io").read_text().split()
    written = int(counted[counted.index("wchar:") + 1])
    said = sum(path.stat().st_size for path in space.deck.glob("runs/*/output"))
    assert said >= TALKERS * LINES_A_SECOND * SECONDS * 100
    assert written < 1.5 * said, "the kernel adds what children wrote: nobody has copied it"
    space.tell("go")
    assert process.wait(20) == 0
    assert "locked" not in (space.folder / "err.txt").read_text()
    starts = {one["task"]: one["at"] for one in space.records() if one["event"] == "start"}
    ends = {one["task"]: one["at"] for one in space.records() if one["event"] == "end"}
    gaps = [starts[f"T{n + 1}"] - ends[f"T{n}"] for n in range(19)]
    print("from an end to the next start, in seconds:", sorted(gaps)[len(gaps) // 2])
    assert sorted(gaps)[len(gaps) // 2] < 1.0
