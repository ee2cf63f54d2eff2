"""What the dashboard costs under load, in a real pseudo-terminal, beside the same without one.

    python -m tests.bench.load [--rounds 3] [--seconds 8]

200 turns run, each for 0.2 s, so that about 1,000 end a second and some 5,000 events happen; the
selected one prints 5,000 lines a second, and a key is pressed ten times a second. Printed are the
rate of events with the dashboard by that without, how long a key takes until it is painted, how
late the event loop is (its own clock, every 5 ms), and the process's memory.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import random
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from textual.events import Key

from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.commands import AddBatch
from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.private import make_private_folder
from batchdeck.root import collect_seldom
from batchdeck.tui.app import DeckApp
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.builders import batch_spec, demo_agent

RUNNING = 200
TURN_SECONDS = 0.2
AGENTS = 20
LINES_A_SECOND = 5_000
KEY_SECONDS = 0.1
TICK_SECONDS = 0.005
PRINTER = "printer"
LEAD_SECONDS = 2.0
"""The load has settled after this time."""


@dataclass(slots=True)
class Figures:
    """What one process saw."""

    events: float = 0.0
    """A second."""
    lag_ms: list[float] = field(default_factory=list)
    key_ms: list[float] = field(default_factory=list)
    megabytes: float = 0.0


class SteadyAgent:
    """Takes 0.2 s for every turn, in this process; the printer prints until it is stopped."""

    outlives = False

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        """See `Adapter.run`."""
        control.started(None)
        if assignment.agent.name == PRINTER:
            await anyio.to_thread.run_sync(make_private_folder, assignment.run)
            stop = threading.Event()
            threading.Thread(target=_print_lines, args=(assignment.run, stop), daemon=True).start()
            await control.stop.wait()
            stop.set()
            return Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, error="stopped")
        await anyio.sleep(TURN_SECONDS)
        return Outcome(TurnState.SUCCEEDED, exit_code=0, text="done")

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        """See `Adapter.adopt`."""
        return Outcome(TurnState.LOST, AttemptEnd.LOST, error="it ended with its supervisor")

    def never_started(self, run: Path) -> bool:
        """See `Adapter.never_started`."""
        return True


def _print_lines(run: Path, stop: threading.Event) -> None:
    number, step = 0, LINES_A_SECOND // 100
    with open(run / "output", "ab", buffering=0) as file:
        while not stop.wait(0.01):
            lines = (f"\x1b[32mok\x1b[0m {number + n} guide.md\n" for n in range(step))
            file.write("".join(lines).encode())
            number += step


@asynccontextmanager
async def _loaded(folder: Path, seconds: float) -> AsyncIterator[Engine]:
    turns = int((seconds + 3 * LEAD_SECONDS) * RUNNING / TURN_SECONDS)
    agents = [demo_agent(f"a{n}", RUNNING // AGENTS) for n in range(AGENTS)]
    tasks = [TaskSpec("P", PRINTER, prompt="print")]
    tasks += [TaskSpec(f"T{n}", f"a{n % AGENTS}", prompt="x", title="x" * 40) for n in range(turns)]
    most = RUNNING + 1
    spec = batch_spec("load", tasks, [*agents, demo_agent(PRINTER)], {"batch:load": most})
    options = DeckOptions(max_parallel_cap=most)
    paths = DeckPaths(folder / ".batchdeck")
    async with open_deck(paths, options, {AgentKind.DEMO: SteadyAgent()}) as deck:
        deck.stop_admitting()
        await deck.submit(AddBatch(spec=spec))
        deck.admit()
        yield deck


async def _measure(deck: Engine, figures: Figures, seconds: float) -> None:
    await anyio.sleep(LEAD_SECONDS)
    seen = 0

    def count(events: Sequence[object]) -> None:
        nonlocal seen
        seen += len(events)

    deck.listeners.append(count)
    started = time.perf_counter()
    end = started + seconds
    while (before := time.perf_counter()) < end:
        await anyio.sleep(TICK_SECONDS)
        figures.lag_ms.append(1e3 * (time.perf_counter() - before - TICK_SECONDS))
    figures.events = seen / (time.perf_counter() - started)
    figures.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def _press_keys(app: DeckApp, table: TurnTable, figures: Figures) -> None:
    """Keys that move the cursor; one is painted when the next write has its row."""
    driver = app._driver
    assert driver is not None
    write = driver.write
    waits: list[Any] = [0.0, None]

    def watched(data: str) -> None:
        write(data)
        pressed, row = waits
        if pressed and table.cursor_key != row:
            figures.key_ms.append(1e3 * (time.perf_counter() - pressed))
            waits[0] = 0.0

    driver.write = watched  # type: ignore[method-assign]
    chance = random.Random(3)
    for number in range(10**9):
        await anyio.sleep(KEY_SECONDS * chance.uniform(0.5, 1.5))
        waits[:] = time.perf_counter(), table.cursor_key
        key = "jk"[number % 2]
        app.post_message(Key(key, key))


async def _seat(folder: Path, seconds: float, screen: bool) -> Figures:
    figures = Figures()
    async with _loaded(folder, seconds) as deck, anyio.create_task_group() as tasks:
        if not screen:
            await _measure(deck, figures, seconds)
            tasks.cancel_scope.cancel()
            return figures
        app = DeckApp(deck)
        tasks.start_soon(app.run_async)
        with anyio.fail_after(10):
            while not (app.is_running and app.view.turns and app.screen.query(TurnTable)):
                await anyio.sleep(TICK_SECONDS)
        table = app.screen.query_one(TurnTable)
        printer = next(t.id for t in app.view.turns.values() if t.agent == PRINTER)
        table.move_to(printer)
        async with anyio.create_task_group() as pressing:
            pressing.start_soon(_press_keys, app, table, figures)
            await _measure(deck, figures, seconds)
            pressing.cancel_scope.cancel()
        app.exit()
    return figures


def run(folder: Path, seconds: float, *, screen: bool) -> Figures:
    """One process under load, in a pseudo-terminal of its own."""
    place = Path(tempfile.mkdtemp(dir=folder))
    told = place / "figures.json"
    words = [sys.executable, "-m", "tests.bench.load", "--told", str(told)]
    words += ["--seconds", str(seconds), *(["--screen"] if screen else [])]
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    here = Path(__file__).parents[2]
    with subprocess.Popen(words, cwd=here, stdin=inside, stdout=inside, stderr=inside) as process:
        os.close(inside)
        last = b""
        with contextlib.suppress(OSError):  # whoever was in it has closed it
            while data := os.read(terminal, 65536):
                last = (last + data)[-65536:]
    os.close(terminal)
    assert process.returncode == 0, last.decode(errors="replace")
    return Figures(**json.loads(told.read_text()))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of them lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    """Prints the medians of several rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--screen", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--told", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.told is not None:
        collect_seldom()  # as the program does
        figures = anyio.run(_seat, given.told.parent, given.seconds, given.screen)
        given.told.write_text(json.dumps(asdict(figures)))
        return
    found: list[tuple[Figures, Figures]] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(given.rounds):
            without = run(Path(folder), given.seconds, screen=False)
            found.append((without, run(Path(folder), given.seconds, screen=True)))
    screens = [screen for _, screen in found]

    rows = {
        "events a second without": [without.events for without, _ in found],
        "with the dashboard by without": [s.events / w.events for w, s in found],
        "a key painted, 50th, ms": [percentile(s.key_ms, 0.5) for s in screens],
        "a key painted, 95th, ms": [percentile(s.key_ms, 0.95) for s in screens],
        "loop lag, 95th, ms": [percentile(s.lag_ms, 0.95) for s in screens],
        "the same without a dashboard": [percentile(w.lag_ms, 0.95) for w, _ in found],
        "memory, MB": [s.megabytes for s in screens],
    }
    for name, values in rows.items():
        low, high = min(values), max(values)
        print(f"{name:<32} {statistics.median(values):8.2f}  [{low:.2f} .. {high:.2f}]")


if __name__ == "__main__":
    main()
