"""A workspace per test, and one per module whose deck is being dispatched while it is shown."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from batchdeck.__main__ import main
from tests.support.workspace import Result, Workspace, until, workspaces

Invoke = Callable[..., Result]


@pytest.fixture
def invoke_in(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[Workspace], Invoke]:
    """Runs the command in this process, through its own entry; quicker than a process."""

    def of(space: Workspace) -> Invoke:
        def run(
            *arguments: object,
            code: int | None = None,
            cwd: Path | None = None,
            env: Mapping[str, str] | None = None,
            input: str = "",
        ) -> Result:
            with monkeypatch.context() as patch:
                patch.chdir(cwd or space.folder)
                patch.setattr(sys, "argv", ["batchdeck", *map(str, arguments)])
                patch.setattr(sys, "stdin", io.StringIO(input))
                for name, value in {**space.environment, **(env or {})}.items():
                    patch.setenv(name, value)
                capfd.readouterr()
                ended = _ended()
            printed = capfd.readouterr()
            assert code is None or ended == code, f"{arguments}: {ended}, {printed}"
            return Result(ended, printed.out, printed.err)

        return run

    return of


@pytest.fixture
def invoke(invoke_in: Callable[[Workspace], Invoke], request: Any) -> Invoke:
    """The command in the deck at work where the test has one, else in its workspace."""
    name = "dispatched" if "dispatched" in request.fixturenames else "space"
    return invoke_in(request.getfixturevalue(name))


def _ended() -> int:
    """The exit code of the command; the process's mask is as it was."""
    mask = os.umask(0o022)
    try:
        with pytest.raises(SystemExit) as left:
            main()
    finally:
        os.umask(mask)
    code = left.value.code
    assert isinstance(code, int)
    return code


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
