"""A deck that is being dispatched while it is shown, one per module."""

from __future__ import annotations

from collections.abc import Iterator

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
                {"id": "W2", "agent": "wide", "prompt": "say=two", "title": "The second"},
                {"id": "W3", "agent": "wide", "prompt": "say=three", "target": "issue-1"},
                {"id": "D1", "agent": "idle", "prompt": "say=four", "depends_on": ["W1"]},
                {"id": "H1", "agent": "idle", "prompt": "say=five", "status": "BACKLOG"},
            ],
        )
        space.start_run(file)
        until(space.supervised)
        yield space
