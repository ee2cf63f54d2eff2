"""`--plain`: no screen, a line for every change, for screen readers and logs."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from tests.support.workspace import Workspace, until


def batch(space: Workspace) -> Path:
    return space.batch(
        tasks=[
            {"id": "T1", "agent": "coder", "prompt": space.until_told("T1")},
            {"id": "T2", "agent": "coder", "prompt": "exit=3"},
        ]
    )


def printed(space: Workspace) -> str:
    return (space.folder / "out.txt").read_text()


def test_a_run_prints_each_change_in_a_line_without_a_single_escape(space: Workspace) -> None:
    process = space.start("run", batch(space), "--plain")
    space.while_runs(process, lambda: space.starts() == ["T1"])
    space.run("limit", "agent:coder=2", code=0)
    space.tell("T1")
    assert process.wait(20) == 5
    lines = printed(space)
    for words in ("#1 T1 coder started", "limit agent:coder 1 → 2", "task status", "#2 T2 failed"):
        assert words in lines
    assert "\x1b" not in lines
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines.splitlines())


def test_the_deck_itself_is_dispatched_until_it_is_told_to_go(space: Workspace) -> None:
    space.run("limit", "global=2", code=0)
    process = space.start("--plain")
    until(space.supervised)
    space.run("agent", "add", "echo", "--command", "cat", code=0)
    space.run("task", "add", "echo", "hello", code=0)
    space.while_runs(process, lambda: "succeeded" in printed(space))
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert "idle · 0 turns running · 0 queued" in printed(space).splitlines()[0]


def test_another_terminal_follows_in_lines_until_the_supervisor_goes(space: Workspace) -> None:
    run = space.start_run(batch(space))
    follower = space.start("attach", "--plain")
    space.while_runs(follower, lambda: "1 turn running" in printed(space))
    space.run("hold", "agent:coder", code=0)
    space.while_runs(follower, lambda: "hold agent:coder by" in printed(space))
    run.send_signal(signal.SIGTERM)
    run.wait(10)
    assert follower.wait(10) == 0
    assert "nobody dispatches this deck" in printed(space)


def test_plain_in_front_of_a_command_says_where_it_goes(space: Workspace) -> None:
    assert "run FILE --plain" in space.run("--plain", "status", code=2).err
