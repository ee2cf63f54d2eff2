"""A headless run says how far it is: with a bar on a terminal, with lines alone in a log."""

from __future__ import annotations

from typing import Any

from tests.flows.conftest import OpenTerminal
from tests.support.workspace import Workspace

TASKS: list[dict[str, Any]] = [
    {"id": f"T{n}", "agent": "coder", "prompt": "say=done"} for n in range(1, 4)
]


def test_on_a_terminal_a_bar_stands_below_the_lines(
    space: Workspace, terminal: OpenTerminal
) -> None:
    waiting = {"id": "T4", "agent": "coder", "prompt": space.until_told("T4")}
    shown = terminal("run", space.batch(tasks=[*TASKS, waiting]), "--headless")
    shown.until_shown("#3 T3", "3/4", "1 running · 0 queued · 3 done")
    space.tell("T4")
    assert shown.leave() == 0
    assert "docs completed: 4 done" in shown.text
    assert "running ·" not in shown.text, "the bar goes with the run"


def test_a_log_has_plain_lines(space: Workspace) -> None:
    told = space.run("run", space.batch(tasks=TASKS), "--headless", code=0)
    assert "\x1b" not in told.out
    assert "━" not in told.out
    assert len(told.out.splitlines()) == 2 * len(TASKS) + 1
