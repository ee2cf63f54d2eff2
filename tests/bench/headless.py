"""How many turns a second `batchdeck run FILE --headless` has done, beside what SQLite can do.

    python -m tests.bench.headless [--rounds 5] [--tasks 10000]

The installed program runs a file of demo agents that end at once, as a process of its own; the time
is from its first start of a turn to its last end, as its own database has them. `raw3` (see
tests.bench.raw) is measured beside it, on the same disk.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from batchdeck.core.batchfile.settings import CONFIG
from tests.bench.raw import AGENTS, raw3

CAP = 64
COMMAND = Path(sys.executable).parent / "batchdeck"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the program beside one of `raw3`."""

    rate: float
    """Turns a second, from the first start to the last end."""
    whole_seconds: float
    """From the command to its exit, with reading the file and adding its tasks."""
    raw: float

    @property
    def ratio(self) -> float:
        return self.rate / self.raw


def one_run(folder: Path, tasks: int) -> Run:
    """Runs a file of `tasks` tasks in a fresh folder, then the same rows by hand."""
    deck = folder / ".batchdeck"
    deck.mkdir(mode=0o700, parents=True)
    (deck / CONFIG).write_text(f"max_parallel_cap: {CAP}\n")
    (folder / "bench.yaml").write_text(_file(tasks))
    begun = time.perf_counter()
    subprocess.run(
        [COMMAND, "run", "bench.yaml", "--headless"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    whole = time.perf_counter() - begun
    with contextlib.closing(sqlite3.connect(deck / "deck.db")) as raw:
        done, first, last = raw.execute(
            "SELECT count(*), min(started_ms), max(ended_ms) FROM attempts WHERE \"end\" = 'exited'"
        ).fetchone()
    assert done == tasks, f"{done} of {tasks} turns ended"
    return Run(tasks / (last - first) * 1000, whole, raw3(folder / "raw.db", tasks, "FULL").rate)


def _file(tasks: int) -> str:
    lines = ["name: bench", f"max_parallel: {CAP}", "agents:"]
    lines += [
        f"  a{number}: {{kind: demo, parallelism_limit: 10, script: {{seconds: 0, lines: 0}}}}"
        for number in range(AGENTS)
    ]
    lines.append("tasks:")
    lines += [
        f"  - {{id: T{number}, agent: a{number % AGENTS}, title: Task {number}, prompt: Do it}}"
        for number in range(tasks)
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the median of several rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, default=Path.cwd())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        runs = [one_run(Path(folder) / str(n), given.tasks) for n in range(given.rounds)]
    ratios = [run.ratio for run in runs]
    print(f"headless   {statistics.median(run.rate for run in runs):>9.0f} /s")
    print(f"raw3       {statistics.median(run.raw for run in runs):>9.0f} /s")
    print(f"whole      {statistics.median(run.whole_seconds for run in runs):>9.2f} s")
    print(f"ratio      {statistics.median(ratios):.2f}  [{min(ratios):.2f} .. {max(ratios):.2f}]")


if __name__ == "__main__":
    main()
