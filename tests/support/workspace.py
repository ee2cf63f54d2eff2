"""A project folder of its own, the installed command in it, and the ledger its agents write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batchdeck.core.clock import SystemClock
from batchdeck.core.deck.looking import look
from batchdeck.core.executors.executor import Alive
from batchdeck.core.executors.processes import signal_marked
from batchdeck.core.executors.records import evidence, fence
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.rules.gates import evaluate, shut
from batchdeck.core.view import DeckView
from batchdeck.tui.cli.documents import status_document

PROGRAM = Path(__file__).parent / "scripted_agent.py"
COMMAND = Path(sys.executable).parent / "batchdeck"
CHANGED_COPY = (
    {"PYTHONPATH": os.environ["PYTHONPATH"]}
    if os.environ.get("BATCHDECK_PROGRAM") == "module"
    else {}
)
"""Where the program is found when these tests are run on a changed copy of it."""
PATIENCE = 6.0 if CHANGED_COPY else 20.0
"""Seconds after which a condition is taken never to come true; a copy with a fault is expected to
run into it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True)
class Interval:
    """One attempt as its agent saw it; times are of `time.monotonic()`."""

    task: str | None
    turn: str
    agent: str
    cwd: str
    start: float
    end: float


class Workspace:
    """A folder with a deck, driven as its user would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger"
        self.ledger.touch()
        (folder / "home").mkdir()
        self.environment = {
            "PATH": f"{COMMAND.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "USER": "operator",
            **CHANGED_COPY,
        }
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def deck(self) -> Path:
        return self.folder / ".batchdeck"

    # -- batch files

    def agent(self, name: str, **fields: Any) -> dict[str, Any]:
        """A scripted command agent, as a batch file defines it."""
        return {
            "kind": "command",
            "command": [sys.executable, "-I", "-S", str(PROGRAM)],
            "prompt_via": "stdin",
            "output": "text",
            "env": {"LEDGER": str(self.ledger), "AGENT_NAME": name},
            **fields,
        }

    def batch(self, file: str = "batch.yaml", **document: Any) -> Path:
        """Writes a batch file; JSON is YAML. Agents are given as name: fields."""
        agents = document.pop("agents", {"coder": {}})
        document["agents"] = {name: self.agent(name, **fields) for name, fields in agents.items()}
        path = self.folder / file
        path.write_text(json.dumps({"name": "docs", **document}, indent=1))
        path.chmod(0o600)
        return path

    def until_told(self, name: str) -> str:
        """Prompt words that make an agent wait until `tell(name)`."""
        return f"wait={self.folder / ('told-' + name)}"

    def tell(self, name: str) -> None:
        """Lets go on whoever waits for `name`."""
        (self.folder / f"told-{name}").touch()

    # -- the command

    def run(self, *arguments: object, code: int | None = None, **given: Any) -> Result:
        """Runs `batchdeck` to its end. `code`: what it must end with."""
        env = {**self.environment, **given.pop("env", {})}
        done = subprocess.run(
            [str(COMMAND), *map(str, arguments)],
            cwd=given.pop("cwd", self.folder),
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=None if "input" in given else subprocess.DEVNULL,
            **given,
        )
        result = Result(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in result.err, result.err
        assert code is None or result.code == code, f"{arguments}: {result}"
        return result

    def start(self, *arguments: object, **given: Any) -> subprocess.Popen[bytes]:
        """Starts `batchdeck`; what it prints goes to `out.txt` and `err.txt`."""
        with (self.folder / "out.txt").open("ab") as out, (self.folder / "err.txt").open("ab") as e:
            process = subprocess.Popen(
                [str(COMMAND), *map(str, arguments)],
                cwd=self.folder,
                env={**self.environment, **given.pop("env", {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=e,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def start_run(self, *arguments: object, begun: int = 1) -> subprocess.Popen[bytes]:
        """Starts a headless run, and waits until so many agents have begun."""
        process = self.start("run", *arguments, "--headless")
        self.while_runs(process, lambda: len(self.starts()) >= begun)
        return process

    def while_runs(self, process: subprocess.Popen[bytes], condition: Callable[[], object]) -> None:
        """Waits for a condition that comes true while a supervisor runs."""

        def reached() -> bool:
            if condition():
                return True
            assert process.poll() is None, (self.folder / "err.txt").read_text()
            return False

        until(reached)

    def supervised(self) -> bool:
        return (self.deck / "control.sock").exists()

    def view(self) -> DeckView:
        """The deck as it is on disk, looked at from here: quicker than a process."""
        with look(DeckPaths(self.deck)) as looking:
            return looking.view(1_000)

    def status(self) -> Any:
        """The document of `status --json`."""
        return status_document(self.view())

    def turn(self, name: str) -> Turn:
        """A task's latest turn, or `#TURN`."""
        view = self.view()
        if name.startswith("#"):
            return view.turns[int(name[1:])]
        (number,) = (task.turn for task in view.tasks.values() if task.key == name)
        assert number is not None
        return view.turns[number]

    def shut_gates(self, name: str) -> list[str]:
        """The gates that `why` names as shut."""
        turn = self.turn(name)
        if turn.state is not TurnState.QUEUED:
            return []
        return [str(g.name) for g in shut(evaluate(turn, self.view(), SystemClock().now_ms()))]

    # -- the ledger

    def records(self) -> list[dict[str, Any]]:
        """What the agents have written so far; a line comes whole or not at all."""
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def starts(self) -> list[str]:
        """Tasks (or turns without one) in the order in which their agents began."""
        return [
            record["task"] or f"#{record['turn']}"
            for record in self.records()
            if record["event"] == "start"
        ]

    def at_work(self) -> list[str]:
        """Tasks (or turns) whose agents have begun and not ended."""
        open_: dict[int, str] = {}
        for record in self.records():
            if record["event"] == "start":
                open_[record["pid"]] = record["task"] or f"#{record['turn']}"
            else:
                open_.pop(record["pid"], None)
        return list(open_.values())

    def intervals(self) -> list[Interval]:
        """Every attempt that has ended."""
        begun: dict[int, dict[str, Any]] = {}
        found = []
        for record in self.records():
            if record["event"] == "start":
                begun[record["pid"]] = record
            elif record["pid"] in begun:
                start = begun.pop(record["pid"])
                names = (start[key] for key in ("task", "turn", "agent", "cwd"))
                found.append(Interval(*names, start["at"], record["at"]))
        return found

    # -- the end

    def leave(self) -> None:
        """Ends every supervisor that was started here, and whatever its agents left."""
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        until(self._nothing_is_left)

    def _nothing_is_left(self) -> bool:
        """Ends what agents are left, and fences those that a dead supervisor had just spawned."""
        runs = [run for run in self.deck.glob("runs/*") if not fence(run)]
        live = [run.name for run in runs if isinstance(evidence(run), Alive)]
        for attempt in live:
            signal_marked(attempt, signal.SIGKILL)
        return not live


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Waits for a condition about other processes."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def remains(condition: Callable[[], object], seconds: float = 0.4) -> bool:
    """Whether a condition goes on holding for a while: nothing happened that should not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not condition():
            return False
        time.sleep(0.02)
    return True


def peak(
    intervals: list[Interval], counts: Callable[[Interval], bool] = lambda interval: True
) -> int:
    """The most attempts at work at once."""
    points = [(i.start, 1) for i in intervals if counts(i)]
    points += [(i.end, -1) for i in intervals if counts(i)]
    most = now = 0
    for _, step in sorted(points):
        now += step
        most = max(most, now)
    return most


def workspaces(folder: Path) -> Iterator[Workspace]:
    """A workspace as a fixture gives it: left in order whatever the test did."""
    (folder / "w").mkdir()
    space = Workspace(folder / "w")
    try:
        yield space
    finally:
        space.leave()
