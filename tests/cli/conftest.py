"""Decks that commands are tried on: one at work, and copies of one that nobody dispatches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.workspace import Workspace, until, workspaces


@pytest.fixture(scope="module")
def dispatched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A deck at work: W1 of `wide` runs, W2 and W3 wait for its limit, D1 for W1, H1 is BACKLOG."""
    for space in workspaces(tmp_path_factory.mktemp("dispatched")):
        file = space.batch(
            max_parallel=4,
            max_parallel_by_status={"READY": 3},
            agents={"wide": {}, "idle": {"serial": True}},
            tasks=[
                {"id": "W1", "agent": "wide", "prompt": f"say=hello {space.until_told('W1')}"},
                {"id": "W2", "agent": "wide", "prompt": "say=two", "title": "The second 漢字"},
                {"id": "W3", "agent": "wide", "prompt": "say=three", "target": "issue-1"},
                {"id": "D1", "agent": "idle", "prompt": "say=four", "depends_on": ["W1"]},
                {"id": "H1", "agent": "idle", "prompt": "say=five", "status": "BACKLOG"},
            ],
        )
        space.start_run(file)
        until(space.supervised)
        yield space


QUESTION = json.dumps(
    {
        "question": "Which colour?",
        "choices": ["red", "blue"],
        "default": "blue",
        "schema": {"type": "string"},
    }
)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """T1 has failed, T2 asks something, T3 and T4 are queued at a closed agent, T5 is BACKLOG.

    Nobody dispatches it; tests take a copy.
    """
    for space in workspaces(tmp_path_factory.mktemp("made")):
        file = space.batch(
            agents={"coder": {}, "closed": {"parallelism_limit": 0}},
            tasks=[
                {"id": "T1", "agent": "coder", "prompt": "exit=3"},
                {"id": "T2", "agent": "coder", "prompt": f"ask='{QUESTION}'"},
                {"id": "T3", "agent": "closed", "prompt": "exit=0"},
                {"id": "T4", "agent": "closed", "prompt": "exit=0"},
                {"id": "T5", "agent": "closed", "prompt": "exit=0", "status": "BACKLOG"},
            ],
        )
        process = space.start("run", file, "--headless")
        printed = space.folder / "out.txt"
        space.while_runs(process, lambda out=printed: "asks: Which" in out.read_text())
        process.terminate()
        process.wait(10)
        yield space


def copies(made: Workspace, folder: Path) -> Iterator[Workspace]:
    """One copy of a deck that nobody dispatches, in a workspace below a folder."""
    for space in workspaces(folder):
        shutil.copytree(made.deck, space.deck, ignore=shutil.ignore_patterns("control.sock"))
        yield space


@pytest.fixture
def stopped(made: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A copy of the deck that nobody dispatches."""
    yield from copies(made, tmp_path_factory.mktemp("stopped"))
