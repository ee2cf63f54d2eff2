"""Starts a supervisor again and again, and sees to it that it is killed, until the work is done."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from batchdeck.core.deck.lock import holder
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.executors.processes import signal_marked
from batchdeck.core.points import POINTS, VARIABLE
from tests.crash.ledger import Findings, judge, read_ledger
from tests.crash.workload import Workload, draw_workload

COMMAND = (str(Path(sys.executable).parent / "batchdeck"),)
STUCK_SECONDS = 40.0
"""A supervisor that runs so long while no agent writes a line has lost something."""
LANES = 2
"""Decks at work at once: most of a kill is waiting for the next start."""
TASKS_PER_DECK = 40
SWEEP_SECONDS = DeckOptions().sweep_seconds
KEEP = os.environ.get("BATCHDECK_KEEP")
"""A folder for decks that something was wrong with."""


@dataclass(frozen=True, slots=True)
class Program:
    """Which `batchdeck` is driven: the installed one, or a changed copy."""

    command: tuple[str, ...] = COMMAND
    environment: dict[str, str] = field(default_factory=dict)


def program_under_test() -> Program:
    """The installed program; in a run of these tests on a changed copy, that copy."""
    if os.environ.get("BATCHDECK_PROGRAM") != "module":
        return Program()
    environment = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    return Program((sys.executable, "-m", "batchdeck"), environment)


@dataclass(slots=True)
class Report:
    """What a whole harness came to."""

    seed: int
    kills: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)

    @property
    def line(self) -> str:
        """`crash: 200 kills, 500 tasks, lost 0, doubled 0, overlapping 0, seed 21`"""
        return f"crash: {self.kills} kills, {self.findings.words}, seed {self.seed}"

    @property
    def hit(self) -> str:
        """`hit: claimed 14, commit.after 13, …`: how often each point, or victim, was."""
        return "hit: " + ", ".join(f"{name} {times}" for name, times in sorted(self.hits.items()))


class Supervisor:
    """One start of `batchdeck run FILE --headless --auto-resume`."""

    def __init__(
        self,
        load: Workload,
        program: Program,
        crash_at: str | None = None,
        more: tuple[str, ...] = (),
    ) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(load.root / "home"),
            "LANG": "C.UTF-8",
            **program.environment,
        }
        if crash_at is not None:
            environment[VARIABLE] = crash_at
        self._load = load
        self._errors = (load.root / "errors").open("ab")
        command = (*program.command, "run", load.file.name, "--headless", "--auto-resume")
        self.process = subprocess.Popen(
            [*command, "--on-lost", "retry", *more],
            cwd=load.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )

    def until_it_holds_the_deck(self) -> None:
        """Returns once it works on the deck, or has ended."""
        while self.process.poll() is None:
            held_by = holder(self._load.deck / "lock")
            if held_by is not None and held_by.pid == self.process.pid:
                return
            time.sleep(0.005)

    def kill(self) -> None:
        self.process.kill()

    def end(self) -> int | None:
        """Waits for its end; None: it is stuck, and was killed."""
        size, since = -1, time.monotonic()
        while True:
            try:
                code = self.process.wait(0.2)
            except subprocess.TimeoutExpired:
                now = (self._load.root / "ledger").stat().st_size
                if now != size:
                    size, since = now, time.monotonic()
                if time.monotonic() - since < STUCK_SECONDS:
                    continue
                self.process.kill()
                self.process.wait()
                self._errors.close()
                return None
            self._errors.close()
            return code


class Harness(ABC):
    """What all the ways of killing share: decks one after another until there were enough kills."""

    def __init__(self, kills: int, seed: int, program: Program | None = None) -> None:
        self.program = program or Program()
        self.wanted = kills
        self.report = Report(seed)
        self._seed = seed

    def run(self) -> Report:
        """Goes on until there were enough kills; stops early at the first fault."""
        with ThreadPoolExecutor(LANES) as lanes:
            list(lanes.map(self._lane, range(LANES)))
        print(self.report.line)
        if self.report.hits:
            print(self.report.hit)
        return self.report

    def _lane(self, lane: int) -> None:
        dice = random.Random(f"{self._seed}/{lane}")
        while not self.enough:
            with tempfile.TemporaryDirectory(prefix="batchdeck-crash-") as folder:
                load = self.draw(Path(folder), dice)
                try:
                    found = self.one_deck(load, dice)
                finally:
                    leave_nothing(load)
                self.report.findings.add(found)
                if not found.sound and KEEP:
                    ignored = shutil.ignore_patterns("*.sock")
                    shutil.copytree(folder, Path(KEEP) / Path(folder).name, ignore=ignored)

    @property
    def enough(self) -> bool:
        return self.report.kills >= self.wanted or not self.report.findings.sound

    def draw(self, folder: Path, dice: random.Random) -> Workload:
        return draw_workload(folder, dice, TASKS_PER_DECK)

    @abstractmethod
    def one_deck(self, load: Workload, dice: random.Random) -> Findings:
        """Has one batch done, with as many kills as come in its way."""

    def judged_early(self, load: Workload) -> Findings:
        """The findings of a deck that need not be finished, since a fault has shown already."""
        found = judge(load, read_ledger(load.root / "ledger"))
        found.lost.clear()
        return found

    def judged(self, load: Workload, code: int | None) -> Findings:
        """The findings of a deck whose last supervisor ended by itself, or is stuck."""
        found = judge(load, read_ledger(load.root / "ledger"))
        if code is None:
            found.broken.append("the supervisor is stuck")
        elif code != 0:
            found.broken.append(f"exit {code}: {last_words(load)}")
        return found


def is_doomed(load: Workload) -> bool:
    """Whether the ledger already shows a fault, so that going on would teach nothing new."""
    lines = read_ledger(load.root / "ledger")
    starts = Counter(line.task for line in lines if line.event == "start")
    faults = (line for line in lines if line.event.startswith("fault"))
    return max(starts.values(), default=0) > 1 or next(faults, None) is not None


def last_words(load: Workload) -> str:
    return (load.root / "errors").read_text(errors="replace").strip().rpartition("\n")[2]


def leave_nothing(load: Workload) -> None:
    """Ends whatever carries the mark of an attempt of this deck."""
    for run in load.deck.glob("runs/*"):
        while signal_marked(run.name, signal.SIGKILL):
            time.sleep(0.01)


class NamedPoints(Harness):
    """Kills at named points, drawn so that each is hit about as often as the others."""

    FIRST = ("migrate", "import")
    """Points that are only reached while there is no batch yet."""
    LEAVE_CLAIMED = frozenset(
        {"claimed", "commit.after", "folder.before", "folder.after", "spawn.before"}
    )
    AFTER_CLAIMED = ("recover", "fenced")
    """Points that are reached where the supervisor before was killed at one of those."""

    ONCE = (*AFTER_CLAIMED, "import", "tick")
    """Points that are rarely reached more than once before a batch is done."""

    def __init__(self, kills: int, seed: int, program: Program | None = None) -> None:
        super().__init__(kills, seed, program)
        self._missed: Counter[str] = Counter()

    def draw(self, folder: Path, dice: random.Random) -> Workload:
        """One task goes on until the first sweep: a deck that is done sooner has no tick."""
        return draw_workload(folder, dice, TASKS_PER_DECK, longest=SWEEP_SECONDS + 2)

    def one_deck(self, load: Workload, dice: random.Random) -> Findings:
        before = None
        imported = False
        while not self.enough:
            point = self._draw_point(dice, before, imported)
            most = {"migrate": 25, "commit.before": 8, "commit.after": 8}.get(point, 4)
            count = 1 if point in self.ONCE else dice.randint(1, most)
            code = Supervisor(load, self.program, f"{point}:{count}").end()
            if code != -signal.SIGKILL:
                self._missed[point] += 1
                return self.judged(load, code)
            if is_doomed(load):
                return self.judged_early(load)
            self.report.kills += 1
            self.report.hits[point] += 1
            before = point
            imported = imported or point not in self.FIRST
        return self.judged(load, Supervisor(load, self.program).end())

    @property
    def enough(self) -> bool:
        """Somewhat more kills than were wanted, where a point still lacks its share of them."""
        kills, hits = self.report.kills, self.report.hits
        if not self.report.findings.sound or kills >= self.wanted * 1.25:
            return True
        return kills >= self.wanted and all(20 * hits[point] >= kills for point in POINTS)

    @property
    def _fair(self) -> float:
        """How often each point would have been hit if all were hit as often."""
        return self.report.kills / len(POINTS)

    def _draw_point(self, dice: random.Random, before: str | None, imported: bool) -> str:
        hits = self.report.hits
        candidates: list[str] = [
            point for point in POINTS if point not in (*self.FIRST, *self.AFTER_CLAIMED)
        ]
        if not imported:
            candidates = [point for point in self.FIRST if hits[point] <= self._fair] or candidates
        if before in self.LEAVE_CLAIMED:
            behind = [point for point in self.AFTER_CLAIMED if hits[point] <= self._fair]
            candidates = behind or candidates
        missed = self._missed
        weights = [1 / (1 + hits[point] + missed[point] / 3) ** 3 for point in candidates]
        return dice.choices(candidates, weights)[0]


class RandomTimes(Harness):
    """Kills at times that nobody chose."""

    def one_deck(self, load: Workload, dice: random.Random) -> Findings:
        while not self.enough:
            supervisor = Supervisor(load, self.program)
            supervisor.until_it_holds_the_deck()
            try:
                supervisor.process.wait(dice.uniform(0.0, 0.8))
            except subprocess.TimeoutExpired:
                supervisor.kill()
                self.report.kills += 1
            code = supervisor.end()
            if code != -signal.SIGKILL:
                return self.judged(load, code)
            if is_doomed(load):
                return self.judged_early(load)
        return self.judged(load, Supervisor(load, self.program).end())


class Starting(NamedPoints):
    """Kills between a claim and the moment at which its agent works, again and again."""

    POINTS = ("claimed", "folder.after", "spawn.before", "spawn.after", "started")

    def _draw_point(self, dice: random.Random, before: str | None, imported: bool) -> str:
        return dice.choice(self.POINTS)


HARNESSES: dict[str, Callable[[int, int, Program | None], Harness]] = {
    "named": NamedPoints,
    "random": RandomTimes,
    "starting": Starting,
}
