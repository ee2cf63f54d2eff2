"""Kills agents, runners, supervisors and all of them, one after another, while a batch is done."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from batchdeck.core.deck.losing import MOST_INTERRUPTIONS
from batchdeck.core.executors.processes import signal_marked
from batchdeck.core.executors.records import read_started
from tests.crash.harness import Harness, Supervisor, last_words
from tests.crash.ledger import Findings, judge, read_ledger
from tests.crash.workload import Workload, draw_workload

KINDS = ("agent", "runner", "supervisor", "group", "everything")
"""Who may be killed, each about as often as the others."""
TASKS = 40


class Victims(Harness):
    """Draws who is killed next."""

    def draw(self, folder: Path, dice: random.Random) -> Workload:
        return draw_workload(folder, dice, TASKS, seconds=0.6, children=True, depend=False)

    def one_deck(self, load: Workload, dice: random.Random) -> Findings:
        ended: dict[str, str] = {}  # attempts whose agent was killed, and their task: it failed
        lost: dict[str, str] = {}  # attempts whose runner was killed: their task begins again
        supervisor = self._start(load)
        while not self.enough:
            try:
                supervisor.process.wait(dice.uniform(0.1, 0.4))
                break
            except subprocess.TimeoutExpired:
                kind = self._draw_kind(dice)
            if kind in ("supervisor", "everything"):
                supervisor.kill()
                supervisor.end()
            runs = [run for run in live_runs(load) if run.name not in {**ended, **lost}]
            victims = runs if kind == "everything" else runs[:1]
            if kind in ("agent", "runner", "group", "everything"):
                for run in victims:
                    (ended if kind == "agent" else lost)[run.name] = task_of(run)
                    kill_attempt(run, kind)
            if victims or kind == "supervisor":
                self.report.kills += 1
                self.report.hits[kind] += 1
            if kind in ("supervisor", "everything"):
                supervisor = self._start(load)
        return self._judged(load, supervisor.end(), ended, lost)

    def _draw_kind(self, dice: random.Random) -> str:
        weights = [1 / (1 + self.report.hits[kind]) ** 3 for kind in KINDS]
        return dice.choices(KINDS, weights)[0]

    def _start(self, load: Workload) -> Supervisor:
        return Supervisor(load, self.program, more=("--no-input",))

    def _judged(
        self, load: Workload, code: int | None, ended: dict[str, str], lost: dict[str, str]
    ) -> Findings:
        lines = read_ledger(load.root / "ledger")
        often = [
            task for task, count in Counter(lost.values()).items() if count > MOST_INTERRUPTIONS
        ]
        found = judge(load, lines, given_up={*ended.values(), *often}, again=lost)
        if code not in (0, 5):
            found.broken.append(f"exit {code}: {last_words(load)}")
        left = [run.name for run in load.deck.glob("runs/*") if signal_marked(run.name, 0)]
        if left:
            found.broken.append(f"processes left of {len(left)} attempts")
        return found


def live_runs(load: Workload) -> list[Path]:
    """Attempts whose agent has begun and whose runner lives, in a random order."""
    runs = [run for run in load.deck.glob("runs/*") if read_started(run) and _is_held(run)]
    random.shuffle(runs)
    return runs


def task_of(run: Path) -> str:
    task: str = json.loads((run / "spec.json").read_text())["env"]["BATCHDECK_TASK"]
    return task


def _is_held(run: Path) -> bool:
    descriptor = os.open(run / "lock", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def kill_attempt(run: Path, kind: str) -> None:
    """Kills an attempt's agent, its runner, or all of it."""
    started = read_started(run)
    assert started is not None
    if kind != "agent":
        _kill(started["runner"])
    if kind == "agent":
        _kill(started["agent"])
    elif kind in ("group", "everything"):
        while signal_marked(run.name, signal.SIGKILL):
            time.sleep(0.005)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
