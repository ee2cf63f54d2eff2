"""Launches of the scripted agent, and a census of what they leave."""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from batchdeck.core.executors.executor import Launch
from batchdeck.core.executors.processes import signal_marked

PROGRAM = Path(__file__).parents[2] / "support" / "scripted_agent.py"
PATIENCE = 20.0


def launch(
    tmp_path: Path, prompt: str, *, argv: tuple[str, ...] | None = None, **given: object
) -> Launch:
    """A launch of the scripted agent (or of `argv`) in a run of its own."""
    attempt = str(uuid.uuid4())
    run = tmp_path / "runs" / attempt
    run.mkdir(mode=0o700, parents=True)
    (run / "prompt").write_text(prompt)
    command = argv or (sys.executable, "-I", "-S", str(PROGRAM))
    values: dict[str, object] = {
        "run": run,
        "argv": command,
        "environment": environment(attempt),
        "folder": tmp_path,
        "stdin": run / "prompt",
        "grace_seconds": 5.0,
    }
    return Launch(**{**values, **given})  # type: ignore[arg-type]


def environment(attempt: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "BATCHDECK_RUN": attempt}


def left(attempt: str) -> list[int]:
    """Processes that carry the mark of an attempt."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            marked = f"BATCHDECK_RUN={attempt}".encode() in (entry / "environ").read_bytes()
        except OSError:
            continue
        if marked and entry.name.isdigit():
            found.append(int(entry.name))
    return found


def census(folder: Path) -> Iterator[None]:
    """Around a test: nothing of the attempts in `folder` may be left after it."""
    yield
    attempts = [run.name for run in (folder / "runs").glob("*")]
    found = {attempt: pids for attempt in attempts if (pids := left(attempt))}
    for attempt in found:
        signal_marked(attempt, signal.SIGKILL)
    assert found == {}


def until(condition: Callable[[], object]) -> None:
    """Waits for a condition, from outside of any event loop."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
