"""Judges a deck by what its agents wrote down and by its file, never by what the product says."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.workload import GLOBAL, LIMITS, Workload


@dataclass(slots=True)
class Findings:
    """What was wrong, as names, so that a report can show them."""

    tasks: int = 0
    lost: list[str] = field(default_factory=list)
    """Tasks that never ended."""
    doubled: list[str] = field(default_factory=list)
    """Tasks, or attempts, that were started once more than they may be."""
    overlapping: list[str] = field(default_factory=list)
    """Tasks and folders at which two agents were at once."""
    over: list[str] = field(default_factory=list)
    """Limits of which more were at work than may be."""
    out_of_order: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """The database is not sound, or the product ended as it should not."""

    def add(self, other: Findings) -> None:
        self.tasks += other.tasks
        for name in ("lost", "doubled", "overlapping", "over", "out_of_order", "broken"):
            getattr(self, name).extend(getattr(other, name))

    @property
    def sound(self) -> bool:
        return not any(
            (self.lost, self.doubled, self.overlapping, self.over, self.out_of_order, self.broken)
        )

    @property
    def words(self) -> str:
        """`500 tasks, lost 0, doubled 0, …`"""
        words = (
            f"{self.tasks} tasks, lost {len(self.lost)}, doubled {len(self.doubled)}, "
            f"overlapping {len(self.overlapping)}, over a limit {len(self.over)}"
        )
        if self.out_of_order:
            words += f", out of order {len(self.out_of_order)}"
        if self.broken:
            words += f", broken {len(self.broken)} ({'; '.join(self.broken)})"
        return words


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the ledger."""

    event: str
    task: str
    run: str
    agent: str


def read_ledger(path: Path) -> list[Line]:
    lines = []
    for text in path.read_text().splitlines():
        *event, task, run, agent, _ = text.split(" ")
        lines.append(Line(" ".join(event), task, run, agent))
    return lines


def judge(
    load: Workload,
    lines: list[Line],
    *,
    given_up: Collection[str] = (),
    again: Collection[str] = (),
) -> Findings:
    """Looks at a finished deck. `given_up`: tasks whose agent was killed, so that they have failed;
    `again`: attempts whose runner was killed, so that their task was started once more."""
    found = Findings(tasks=len(load.tasks))
    starts = Counter(line.task for line in lines if line.event == "start")
    ended = {line.task for line in lines if line.event == "end"}
    found.lost = [task for task in load.tasks if task not in ended.union(given_up)]
    may_repeat = Counter(line.task for line in lines if line.event == "start" and line.run in again)
    found.doubled = [task for task in starts if starts[task] > 1 + may_repeat[task]]
    runs = Counter(line.run for line in lines if line.event == "start")
    found.doubled += [run for run, count in runs.items() if count > 1]
    for line in lines:
        if line.event in ("fault overlap", "fault folder"):
            found.overlapping.append(f"{line.task} {line.event}")
        elif line.event.startswith("fault over-"):
            found.over.append(line.event.removeprefix("fault over-"))
    if not (given_up or again):
        _count_intervals(lines, found)
    _check_order(load, lines, found)
    _check_file(load, found)
    return found


def _count_intervals(lines: list[Line], found: Findings) -> None:
    """The same again by the order of the lines alone."""
    at_work: dict[str, Line] = {}
    for line in lines:
        if line.event == "end":
            at_work.pop(line.run, None)
        if line.event != "start":
            continue
        if any(other.task == line.task for other in at_work.values()):
            found.overlapping.append(line.task)
        at_work[line.run] = line
        if len(at_work) > GLOBAL:
            found.over.append("all")
        if sum(other.agent == line.agent for other in at_work.values()) > LIMITS[line.agent]:
            found.over.append(line.agent)


def _check_order(load: Workload, lines: list[Line], found: Findings) -> None:
    first = list(dict.fromkeys(line.task for line in lines if line.event == "start"))
    for target, tasks in load.targets.items():
        begun = [task for task in first if task in tasks]
        if begun != [task for task in tasks if task in begun]:
            found.out_of_order.append(target)


_LIVE = "SELECT count(*) FROM turns WHERE state BETWEEN 1 AND 2"


def _check_file(load: Workload, found: Findings) -> None:
    with contextlib.closing(sqlite3.connect(load.deck / "deck.db")) as raw:
        answer = [row[0] for row in raw.execute("PRAGMA integrity_check")]
        if answer != ["ok"]:
            found.broken.append(f"integrity: {answer[0]}")
        try:
            live = raw.execute(_LIVE).fetchone()[0]
        except sqlite3.OperationalError as error:
            found.broken.append(f"the deck was never set up: {error}")
            return
        if live:
            found.broken.append(f"{live} turns still running in the database")
