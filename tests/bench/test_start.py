"""Ceilings over the start of a deck with a long past."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from batchdeck.core.store.changes import FORGET_EVENTS
from tests.bench.old_deck import grow_old, start
from tests.support.workspace import Workspace, workspaces

pytestmark = pytest.mark.bench

PAINT_SECONDS, DISPATCH_SECONDS = 1.5, 2.0
"""Of processor time from the command on: by the wall a busy machine would be measured."""
LOOP_SECONDS = 0.11
"""What `_loop_seconds` takes of the processor on the machine that these are for."""
MOST_MEGABYTES = 250
MOST_MEGABYTES_ON_DISK = 60
ROUNDS = 3


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    yield from workspaces(tmp_path)


def test_50_000_finished_tasks_and_20_000_old_runs_keep_nobody_waiting(space: Workspace) -> None:
    grow_old(space, 50_000, 20_000)
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        found = start(space)
        print(found)
        best = [min(best[0], found.painted_cpu), min(best[1], found.dispatched_cpu)]
        slower = max(1.0, _loop_seconds() / LOOP_SECONDS)
        if best[0] < slower * PAINT_SECONDS and best[1] < slower * DISPATCH_SECONDS:
            return
    words = f"painted after {best[0]:.2f} s, dispatched after {best[1]:.2f} s"
    raise AssertionError(f"{words}, on a machine that is {slower:.1f} times slower")


def _loop_seconds() -> float:
    """Processor time of a loop that is always the same: a machine's speed changes by the hour."""
    began = time.thread_time()
    for number in range(3_000_000):
        number * number
    return time.thread_time() - began


def test_what_100_000_tasks_leave_behind_weighs_less_than_60_megabytes(space: Workspace) -> None:
    """Events older than is wanted have gone, and the file was made anew."""
    grow_old(space, 100_000, 1)
    raw = sqlite3.connect(space.deck / "deck.db", isolation_level=None)
    while raw.execute(FORGET_EVENTS, (2**60,)).rowcount:
        continue
    raw.close()
    space.run("doctor", "--repair", code=0)
    weight = (space.deck / "deck.db").stat().st_size / 1e6
    print(f"{weight:.1f} MB")
    assert weight < MOST_MEGABYTES_ON_DISK


def test_100_000_finished_tasks_stay_below_250_megabytes(space: Workspace) -> None:
    grow_old(space, 100_000, 100)
    found = start(space)
    print(found)
    assert found.resident < MOST_MEGABYTES
