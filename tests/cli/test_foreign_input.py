"""What no deck can keep is refused in words, with and without a supervisor."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.invoking import Invoke
from tests.support.workspace import COMMAND, Workspace

FROM_INPUT = {
    "send": ["send", "coder", "-", "--on-busy", "queue"],
    "add": ["task", "add", "coder", "-"],
    "edit": ["queue", "edit", "#3", "-"],
    "block": ["task", "block", "T1", "-"],
    "answer": ["task", "answer", "T1", "-"],
}


def made(space: Workspace) -> None:
    file = space.batch(
        agents={"coder": {"parallelism_limit": 0}},
        tasks=[{"id": "T1", "agent": "coder", "prompt": "exit=0"}],
    )
    process = space.start("run", file, "--headless")
    space.while_runs(process, lambda: "T1" in space.run("tasks").out)
    process.terminate()
    process.wait(10)


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_input_that_is_not_utf_8_is_said(space: Workspace, locale: str) -> None:
    made(space)
    for arguments in FROM_INPUT.values():
        ended = subprocess.run(
            [COMMAND, *arguments],
            cwd=space.folder,
            env={**space.environment, "LC_ALL": locale},
            input=b"caf\xe9",
            capture_output=True,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (2, b"Standard input is not UTF-8.\n")
    assert not (space.deck / "crash.txt").exists()


def test_no_input_at_all_is_said(space: Workspace) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"{COMMAND} send coder - <&-"],
        cwd=space.folder,
        env=dict(space.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (2, "There is no standard input to read from.\n")


def test_numbers_that_are_too_large_are_said_without_a_supervisor(
    space: Workspace, invoke: Invoke
) -> None:
    made(space)
    large = "9" * 20
    said = invoke("task", "add", "coder", "x", "--priority", large, code=2)
    assert said.err == f"{large} is too large a number.\n"


def test_numbers_that_are_too_large_are_said_by_a_supervisor(
    dispatched: Workspace, invoke: Invoke
) -> None:
    large = "9" * 20
    said = invoke("task", "add", "wide", "x", "--priority", large, code=2)
    assert said.err == f"{large} is too large a number.\n"
