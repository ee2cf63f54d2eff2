"""A deck with a long past: one finished task, and as many like it as wanted.

    python -m tests.bench.old_deck [TASKS] [RUNS]

prints what it weighs, how long its dashboard takes to be there and to start what waits, and the
memory of the process then.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.terminal import Terminal
from tests.support.workspace import COMMAND, Workspace

TASKS, RUNS = 50_000, 20_000
COLUMNS = {
    "tasks": {"id": "n", "key": "'T' || n", "conversation": "n", "position": "n", "turn": "n"},
    "conversations": {"id": "n", "task": "n"},
    "turns": {
        "id": "n",
        "conversation": "n",
        "position": "n",
        "task": "n",
        "attempt": "printf('%032x', n)",
    },
    "attempts": {"id": "printf('%032x', n)", "turn": "n"},
    "messages": {"id": "n", "conversation": "n", "turn": "n"},
    "events": {"last_seq": "10 * n + 9", "first_seq": "10 * n"},
}
"""What differs from row to row."""


def grow_old(space: Workspace, tasks: int, runs: int) -> None:
    """Runs one task, and makes its rows and its attempt's folder so many times."""
    first = [{"id": "T1", "agent": "coder", "prompt": "say=hello"}]
    space.run("run", space.batch(agents={"coder": {}}, tasks=first), "--headless", code=0)
    (run,) = (space.deck / "runs").iterdir()
    raw = sqlite3.connect(space.deck / "deck.db", isolation_level=None)
    raw.execute("BEGIN")
    raw.execute("PRAGMA defer_foreign_keys = ON")
    for table in ("conversations", "tasks", "turns", "attempts", "messages", "events"):
        _multiply(raw, table, tasks)
    raw.execute("COMMIT")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    shutil.rmtree(run / "scratch")
    for number in range(2, runs + 1):
        copy = run.parent / f"{number:032x}"
        copy.mkdir(mode=0o700)
        for file in run.iterdir():
            os.link(file, copy / file.name)


def _multiply(raw: sqlite3.Connection, table: str, tasks: int) -> None:
    names = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
    values = [COLUMNS[table].get(name, f'"{name}"') for name in names]
    raw.execute(
        f"WITH RECURSIVE more(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM more WHERE n < {tasks}) "
        f"INSERT INTO {table} SELECT {', '.join(values)} "
        f"FROM more, (SELECT * FROM {table} ORDER BY 1 DESC LIMIT 1)"
    )


@dataclass(frozen=True, slots=True)
class Start:
    """From the command on, the start of the interpreter included."""

    painted: float
    dispatched: float
    """Seconds by the wall's clock."""
    painted_cpu: float
    dispatched_cpu: float
    """Seconds of processor time: those by the wall on a machine that is otherwise idle."""
    resident: float
    """Megabytes then."""


def start(space: Workspace) -> Start:
    """Opens the dashboard on a deck on which one task waits."""
    space.run("task", "add", "coder", "say=again", code=0)
    before = len(space.records())
    began = time.monotonic()
    terminal = Terminal([str(COMMAND)], space.folder, space.environment)
    try:
        seen: dict[str, tuple[float, float]] = {}
        while len(seen) < 2:
            terminal.read()
            now = (time.monotonic() - began, processor_seconds(terminal.process.pid))
            assert now[0] < 60, terminal.text
            if "slots" in terminal.text:
                seen.setdefault("painted", now)
            if len(space.records()) > before:
                seen.setdefault("dispatched", now)
            time.sleep(0.005)
        status = Path(f"/proc/{terminal.process.pid}/statm").read_text().split()
        resident = int(status[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        terminal.process.terminate()
        terminal.leave()
    finally:
        terminal.close()
    (painted, painted_cpu), (dispatched, dispatched_cpu) = seen["painted"], seen["dispatched"]
    return Start(painted, dispatched, painted_cpu, dispatched_cpu, resident)


def processor_seconds(process: int) -> float:
    """What a process has used of the processors so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    tasks, runs = [int(word) for word in sys.argv[1:]] or [TASKS, RUNS]
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        grow_old(space, tasks, runs)
        size = (space.deck / "deck.db").stat().st_size / 1e6
        print(f"{tasks} tasks and {runs} runs: deck.db {size:.1f} MB")
        for _ in range(3):
            print(start(space))


if __name__ == "__main__":
    main()
