"""A batch of three kinds of real programs over a real git repository, as they themselves saw it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.workspace import COMMAND, PROGRAM, Interval, Workspace, peak

SLEEP = 0.8
START_SECONDS = 0.35
"""What starting one turn may cost on a busy machine: the commit, the runner, the interpreter."""

SHELL = """\
#!/bin/sh
read -r seconds
sleep "$seconds"
echo "$BATCHDECK_TASK" > "$BATCHDECK_TASK.txt"
echo "did $BATCHDECK_TASK"
"""
PYTHON = "import sys, time; time.sleep(float(sys.stdin.read())); print('slept')"
LLM = [str(COMMAND.parent / "llm"), "-m", "echo", "--no-log"]


@pytest.fixture
def repository(space: Workspace) -> Path:
    """A git repository with `docs` and `docs/api`, and the batch's shell script beside it."""
    repository = space.folder / "repository"
    (repository / "docs" / "api").mkdir(parents=True)
    (repository / "docs" / "api" / "index.md").write_text("# API\n")
    name = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["init", "-q"], ["add", "."], [*name, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *arguments], cwd=repository, check=True, env=space.environment)
    # its first run ever makes a database, which two at once find locked
    subprocess.run([*LLM, "hello"], check=True, env=space.environment, stdout=subprocess.DEVNULL)
    script = space.folder / "work.sh"
    script.write_text(SHELL)
    script.chmod(0o700)
    return repository


def batch(space: Workspace) -> Path:
    around = [sys.executable, "-I", "-S", str(PROGRAM), "--around"]
    sleep = str(SLEEP)
    folders = {"S1": "repository/docs", "S2": "repository/docs/api"}
    tasks: list[dict[str, Any]] = [
        {"id": f"L{n}", "agent": "llm", "prompt": "Say it again."} for n in (1, 2)
    ]
    for number in range(1, 8):
        task = {"id": f"S{number}", "agent": "shell", "prompt": sleep}
        if task["id"] in folders:
            task["folder"] = folders[task["id"]]
        tasks.append(task)
    tasks += [
        {"id": f"P{n}", "agent": "python", "prompt": sleep, "status": "IN_PROGRESS"}
        for n in (1, 2, 3)
    ]
    return space.batch(
        max_parallel=4,
        max_parallel_by_status={"READY": 3},
        agents={
            "shell": {"command": [*around, str(space.folder / "work.sh")], "parallelism_limit": 4},
            "python": {"command": [*around, sys.executable, "-c", PYTHON]},
            "llm": {"command": [*around, *LLM], "parallelism_limit": 4},
        },
        tasks=tasks,
    )


def seconds(intervals: list[Interval], counts: Callable[[Interval], bool]) -> float:
    return sum(i.end - i.start for i in intervals if counts(i))


def test_twelve_tasks_of_three_programs_stay_within_every_limit_and_waste_no_time(
    space: Workspace, repository: Path
) -> None:
    done = space.run("run", batch(space), "--headless", "--json", code=0)
    intervals = space.intervals()
    by_task = {interval.task: interval for interval in intervals}
    assert len(intervals) == len(by_task) == 12

    def ready(interval: Interval) -> bool:
        return interval.agent != "python"

    assert peak(intervals) <= 4
    assert peak(intervals, ready) <= 3
    assert peak(intervals, lambda i: i.agent == "python") == 1
    docs, api = by_task["S1"], by_task["S2"]
    assert docs.end <= api.start or api.end <= docs.start, "docs and docs/api overlap"
    assert (docs.cwd, api.cwd) == (str(repository / "docs"), str(repository / "docs" / "api"))

    results = {row["task"]: row["output"] for row in done.lines[-1]["results"]}
    assert "Say it again." in results["L1"]
    assert results["S3"] == "did S3"
    assert results["P1"] == "slept"
    changed = subprocess.run(
        ["git", "status", "--porcelain", "-uall"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **space.environment},
    )
    assert changed.stdout.split() == ["??", "docs/S1.txt", "??", "docs/api/S2.txt"]

    # no schedule is shorter than the longest of these, whatever its order
    best = max(
        seconds(intervals, lambda i: True) / 4,
        seconds(intervals, ready) / 3,
        seconds(intervals, lambda i: i.agent == "python"),
        docs.end - docs.start + api.end - api.start,
    )
    span = max(i.end for i in intervals) - min(i.start for i in intervals)
    in_a_row = 3
    """Turns that one slot of the narrowest limit starts, one after the other."""
    assert span <= best * 1.15 + in_a_row * START_SECONDS, f"{span:.2f} s, best {best:.2f} s"
