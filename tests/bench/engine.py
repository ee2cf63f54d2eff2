"""How many turns a second the whole engine claims, runs and ends, beside what SQLite itself can do.

    python -m tests.bench.engine [--rounds 5] [--turns 10240] [--json out.json]

One round measures `raw0`, `raw1`, `raw3` (tests.bench.raw) and the engine in turn, in one process
on one disk, so that the ratios mean something on a machine that does other things as well. A turn
of the engine is a task of a batch: one durable claim, an in-process agent that ends at once, one
durable end, with all events, attempts and statuses; its insert is part of the batch's import and is
measured apart.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from batchdeck.core.agents.demo import DemoAgent
from batchdeck.core.commands import AddBatch
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.paths import DeckPaths
from batchdeck.root import collect_seldom
from tests.bench.raw import AGENTS, Figure, raw0, raw1, raw3
from tests.support.builders import batch_spec, demo_agent

CAP = 64
LOOK_SECONDS = 0.1
"""How often the view is looked at, as the screens do."""
BLOCKED_AGENT = "blocked"


def engine(folder: Path, turns: int, synchronous: str, *, blocked: int = 0) -> Figure:
    """The engine's figure; with `blocked` queued turns of a closed agent in front."""
    return anyio.run(_engine, folder, turns, synchronous, blocked)


async def _engine(folder: Path, turns: int, synchronous: str, blocked: int) -> Figure:
    options = DeckOptions(synchronous=synchronous.lower(), max_parallel_cap=CAP)
    paths = DeckPaths(folder / ".batchdeck")
    async with open_deck(paths, options, {AgentKind.DEMO: DemoAgent()}) as deck:
        if blocked:
            await deck.submit(AddBatch(spec=_closed_batch(blocked)))
        deck.stop_admitting()
        await deck.submit(AddBatch(spec=_batch(turns)))
        wall, cpu = time.perf_counter(), time.process_time()
        deck.admit()
        view = deck.view
        while view.batches["bench"].state is BatchState.RUNNING:
            await anyio.sleep(LOOK_SECONDS)
            view = await deck.wait_newer(view.revision)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        done = view.task_counts["bench"][Status.DONE]
        assert done == turns, f"{done} of {turns} tasks are DONE"
    return Figure(turns / wall, cpu / turns * 1e6)


def _batch(turns: int) -> Any:
    agents = [demo_agent(f"a{number}", 10) for number in range(AGENTS)]
    tasks = [
        TaskSpec(f"T{number}", f"a{number % AGENTS}", prompt="x" * 100, title="x" * 60)
        for number in range(turns)
    ]
    limits = {"batch:bench": CAP, "status:bench/READY": CAP}
    return batch_spec("bench", tasks, agents, limits)


def _closed_batch(turns: int) -> Any:
    tasks = [
        TaskSpec(f"B{number}", BLOCKED_AGENT, prompt="x", priority=5) for number in range(turns)
    ]
    return batch_spec("closed", tasks, [demo_agent(BLOCKED_AGENT, 0)])


Round = dict[str, Figure]


def one_round(folder: Path, turns: int, synchronous: str = "FULL") -> Round:
    """All figures, one after the other, each on a fresh file."""
    runs: dict[str, Callable[[Path], Figure]] = {
        "raw0": lambda path: raw0(path / "deck.db", 400, synchronous),
        "raw1": lambda path: raw1(path / "deck.db", turns, synchronous),
        "raw3": lambda path: raw3(path / "deck.db", turns, synchronous),
        "engine": lambda path: engine(path, turns, synchronous),
    }
    collect_seldom()  # as the program does
    figures: Round = {}
    for name, run in runs.items():
        place = Path(tempfile.mkdtemp(dir=folder))
        figures[name] = run(place)
    return figures


def ratios(figures: Round) -> dict[str, float]:
    """T1 to T4 of one round."""
    ours = figures["engine"]
    return {
        "T1 engine / raw3": ours.rate / figures["raw3"].rate,
        "T2 CPU engine / CPU raw3": ours.cpu_us / figures["raw3"].cpu_us,
        "T3 engine / raw1": ours.rate / figures["raw1"].rate,
        "T4 engine / raw0": ours.rate / figures["raw0"].rate,
    }


def main() -> None:
    """Prints the median of several rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=10_240)
    parser.add_argument("--synchronous", default="FULL", choices=["FULL", "NORMAL"])
    parser.add_argument("--folder", type=Path, default=Path.cwd())
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        rounds = [
            one_round(Path(folder), given.turns, given.synchronous) for _ in range(given.rounds)
        ]
    report: dict[str, Any] = {}
    for name in rounds[0]:
        rates = [figures[name].rate for figures in rounds]
        cpus = [figures[name].cpu_us for figures in rounds]
        report[name] = {"rate": statistics.median(rates), "cpu_us": statistics.median(cpus)}
        print(f"{name:<10} {report[name]['rate']:>9.0f} /s  {report[name]['cpu_us']:>7.1f} us CPU")
    for name in ratios(rounds[0]):
        found = [ratios(figures)[name] for figures in rounds]
        report[name] = statistics.median(found)
        print(f"{name:<28} {report[name]:.2f}  [{min(found):.2f} .. {max(found):.2f}]")
    if given.json is not None:
        given.json.write_text(json.dumps(report, indent=1), "utf-8")


if __name__ == "__main__":
    main()
