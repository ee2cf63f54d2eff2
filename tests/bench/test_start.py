"""Ceilings over the start of a deck with a long past."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.old_deck import grow_old, start
from tests.support.workspace import Workspace, workspaces

pytestmark = pytest.mark.bench

PAINT_SECONDS, DISPATCH_SECONDS = 1.5, 2.0
"""From the command on, the start of the interpreter included."""
MOST_MEGABYTES = 250
ROUNDS = 5


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    yield from workspaces(tmp_path)


def test_50_000_finished_tasks_and_20_000_old_runs_keep_nobody_waiting(space: Workspace) -> None:
    grow_old(space, 50_000, 20_000)
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        found = start(space)
        print(found)
        best = [min(best[0], found.painted), min(best[1], found.dispatched)]
        if best[0] < PAINT_SECONDS and best[1] < DISPATCH_SECONDS:
            return
    raise AssertionError(f"painted after {best[0]:.2f} s, dispatched after {best[1]:.2f} s")


def test_100_000_finished_tasks_stay_below_250_megabytes(space: Workspace) -> None:
    grow_old(space, 100_000, 100)
    found = start(space)
    print(found)
    assert found.resident < MOST_MEGABYTES
