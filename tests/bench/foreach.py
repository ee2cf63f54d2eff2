"""What many items cost: the last as much as the first, and the barrier little over its rows.

    python -m tests.bench.foreach [--items 50000] [--json out.json]

A run is a foreach of `items` items by two steps of agents that end at once, on a deck of its own.
Measured are how long adding takes beside the same rows written by hand, and how long another
command waits meanwhile; the processor time per item over the first and the last tenth of the items;
and the barrier's wall time beside that of writing the same rows by hand.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio

from batchdeck.core.agents.demo import DemoAgent
from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.batchfile.settings import Settings
from batchdeck.core.commands import AddBatch, SetLimit
from batchdeck.core.deck.barrier import judge
from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.model.spec import BatchSpec
from batchdeck.core.model.task import Status
from batchdeck.core.paths import DeckPaths
from batchdeck.core.store.connection import create_file
from batchdeck.core.store.migrate import migrate
from batchdeck.root import collect_seldom

AT_WORK = 64
LOOK_SECONDS = 0.02
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run came to."""

    items: int
    read_seconds: float
    """From the file of items to checked tasks."""
    add_seconds: float
    """From these to rows on disk."""
    add_raw_seconds: float
    """The same rows written by hand, in one transaction."""
    longest_wait_seconds: float
    """Of another command's answer meanwhile, asked again and again."""
    items_per_second: float
    first_us: float
    """Processor time per item, over the first tenth that ended, in microseconds."""
    last_us: float
    """The same over the last tenth."""
    judge_seconds: float
    commit_seconds: float
    """From the last item's end to the barrier's event: judged, committed, on disk."""
    raw_seconds: float
    """The same rows written by hand, in one transaction."""
    peak_megabytes: float
    left_in_memory: int
    """Items of which the engine still holds what they left."""

    @property
    def flatness(self) -> float:
        """The cost of the last items by that of the first."""
        return self.last_us / self.first_us

    @property
    def add_ratio(self) -> float:
        """Adding by the same rows written by hand."""
        return self.add_seconds / self.add_raw_seconds

    @property
    def commit_ratio(self) -> float:
        """The barrier by the same rows written by hand."""
        return self.commit_seconds / self.raw_seconds


def one_run(folder: Path, items: int) -> Figures:
    """Measures one foreach of so many items in a folder that is empty."""
    return anyio.run(_one_run, folder, items)


def _spec(folder: Path, items: int) -> BatchSpec:
    lines = (json.dumps({"path": f"docs/page-{n}.md"}) for n in range(items))
    (folder / "items.jsonl").write_text("\n".join(lines))
    steps = [
        {"id": "plan", "agent": "a", "prompt": "Plan {{ item.path }}", "keep": "plan"},
        {
            "id": "apply",
            "agent": "a",
            "prompt": "Apply {{ plan }} to {{ item.path }}",
            "writes": "results",
            "reducer": "append",
        },
    ]
    script = {"seconds": 0, "lines": 0}
    document: dict[str, Any] = {
        "name": "bench",
        "max_parallel": AT_WORK,
        "agents": {"a": {"kind": "demo", "parallelism_limit": AT_WORK, "script": script}},
        "foreach": {
            "items": {"file": "items.jsonl"},
            "max_active": AT_WORK,
            "max_outstanding": 2 * AT_WORK,
            "steps": steps,
        },
    }
    (folder / "bench.yaml").write_text(json.dumps(document))
    caps = Settings(max_parallel_cap=AT_WORK, parallelism_limit_cap=AT_WORK)
    return read_batch(folder / "bench.yaml", config=caps)


async def _one_run(folder: Path, items: int) -> Figures:
    collect_seldom()
    begin = time.perf_counter()
    spec = _spec(folder, items)
    read_seconds = time.perf_counter() - begin
    options = DeckOptions(max_parallel_cap=AT_WORK, parallelism_limit_cap=AT_WORK)
    paths = DeckPaths(folder / ".batchdeck")
    async with open_deck(paths, options, {AgentKind.DEMO: DemoAgent()}) as deck:
        deck.stop_admitting()
        begin = time.perf_counter()
        async with anyio.create_task_group() as others:
            waits: list[float] = []
            others.start_soon(_ask_again_and_again, deck, waits)
            receipt = await deck.submit(AddBatch(spec=spec))
            assert receipt.accepted, receipt.message
            add_seconds = time.perf_counter() - begin
            others.cancel_scope.cancel()
        ends: list[tuple[int, float, float]] = []
        committed: list[float] = []

        def listen(events: Any) -> None:
            done = sum(e.kind == "task.status" and e.fields["status"] == "DONE" for e in events)
            if done:
                total = (ends[-1][0] if ends else 0) + done
                ends.append((total, time.process_time(), time.perf_counter()))
            if any(event.kind == "barrier.committed" for event in events):
                committed.append(time.perf_counter())

        deck.listeners.append(listen)
        wall, cpu = time.perf_counter(), time.process_time()
        deck.admit()
        view = deck.view
        while view.batches["bench"].state is BatchState.RUNNING:
            await anyio.sleep(LOOK_SECONDS)
            view = deck.view
        assert view.task_counts["bench"][Status.DONE] == items
        left = len(deck.memory.state.foreaches["bench"].left)
    last = next(end for end in ends if end[0] >= items)
    tenth = next(end for end in ends if end[0] >= items / 10)
    ninth = next(end for end in ends if end[0] >= items * 9 / 10)
    judged, raw = _barrier_by_hand(paths.database, folder)
    return Figures(
        items=items,
        read_seconds=read_seconds,
        add_seconds=add_seconds,
        add_raw_seconds=_add_by_hand(paths.database, folder),
        longest_wait_seconds=max(waits, default=add_seconds),
        items_per_second=items / (last[2] - wall),
        first_us=(tenth[1] - cpu) / tenth[0] * 1e6,
        last_us=(last[1] - ninth[1]) / (last[0] - ninth[0]) * 1e6,
        judge_seconds=judged,
        commit_seconds=committed[0] - last[2],
        raw_seconds=raw,
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        left_in_memory=left,
    )


async def _ask_again_and_again(deck: Engine, waits: list[float]) -> None:
    while True:
        begin = time.perf_counter()
        await deck.submit(SetLimit(name=GLOBAL, value=AT_WORK))
        waits.append(time.perf_counter() - begin)


def _add_by_hand(database: Path, folder: Path) -> float:
    """How long the rows of the tasks, their conversations and first turns take in one go."""
    wanted = {
        "conversations": "SELECT * FROM conversations ORDER BY id",
        "tasks": "SELECT * FROM tasks ORDER BY id",
        "turns": "SELECT * FROM turns WHERE trigger = 'task' GROUP BY task ORDER BY id",
    }
    with sqlite3.connect(database) as raw:
        found = {table: raw.execute(query).fetchall() for table, query in wanted.items()}
    create_file(folder / "added.db")
    fresh = sqlite3.connect(folder / "added.db", isolation_level=None)
    fresh.execute("PRAGMA journal_mode = WAL")
    fresh.execute("PRAGMA synchronous = FULL")
    migrate(fresh)
    fresh.execute("PRAGMA foreign_keys = OFF")
    begin = time.perf_counter()
    fresh.execute("BEGIN")
    for table, rows in found.items():
        marks = ", ".join("?" * len(rows[0]))
        fresh.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    fresh.execute("COMMIT")
    seconds = time.perf_counter() - begin
    fresh.close()
    return seconds


def _barrier_by_hand(database: Path, folder: Path) -> tuple[float, float]:
    """How long judging takes alone, and how long the same rows take in one transaction."""
    from batchdeck.core.deck.looking import look

    with look(DeckPaths(database.parent)) as looking:
        batch = looking.view().batches["bench"]
    raw = sqlite3.connect(database)
    raw.row_factory = sqlite3.Row
    begin = time.perf_counter()
    judge(raw, batch)
    judged = time.perf_counter() - begin
    rows = raw.execute("SELECT * FROM item_values WHERE kind = 'write'").fetchall()
    raw.close()
    return judged, statistics.median(_by_hand(folder, rows) for _ in range(ROUNDS))


def _by_hand(folder: Path, rows: list[sqlite3.Row]) -> float:
    fresh = sqlite3.connect(folder / "raw.db", isolation_level=None)
    fresh.execute("PRAGMA journal_mode = WAL")
    fresh.execute("PRAGMA synchronous = FULL")
    fresh.execute("DROP TABLE IF EXISTS item_values")
    fresh.execute(
        "CREATE TABLE item_values (task INTEGER, step INTEGER, kind TEXT, name TEXT, reducer TEXT, "
        "value TEXT, PRIMARY KEY (task, step, kind)) WITHOUT ROWID"
    )
    begin = time.perf_counter()
    fresh.execute("BEGIN")
    fresh.executemany("INSERT INTO item_values VALUES (?, ?, ?, ?, ?, ?)", map(tuple, rows))
    fresh.execute("COMMIT")
    seconds = time.perf_counter() - begin
    fresh.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = one_run(Path(folder), given.items)
    document = {
        **asdict(figures),
        "flatness": figures.flatness,
        "add_ratio": figures.add_ratio,
        "commit_ratio": figures.commit_ratio,
    }
    print(json.dumps(document, indent=1))
    if given.json is not None:
        given.json.write_text(json.dumps(document))


if __name__ == "__main__":
    main()
