"""Why, what-if and queue surgery through keys, in a real pseudo-terminal, with real agents."""

from __future__ import annotations

from tests.flows.conftest import OpenTerminal
from tests.support.terminal import ENTER, ESCAPE, SHIFT_TAB, Terminal
from tests.support.workspace import Workspace


def begin(space: Workspace, terminal: OpenTerminal) -> Terminal:
    """`solo` works on S1 until it is told; S2 and S3 wait for it."""
    tasks = [
        {"id": f"S{n}", "agent": "solo", "prompt": space.until_told(f"S{n}")} for n in (1, 2, 3)
    ]
    shown = terminal("run", space.batch(agents={"solo": {}}, tasks=tasks))
    shown.until(lambda _: space.starts() == ["S1"])
    shown.until_shown("S3")
    return shown


def queued(space: Workspace) -> list[str]:
    return [row["task"] or row["title"] for row in space.run("queue", "list", "--json").json]


def test_why_names_the_gate_its_holder_and_what_frees_it(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    shown.move("j")
    shown.press("w")
    shown.until_shown("agent", "solo", "1/1", "when #1 ends")
    shown.press(ESCAPE)
    shown.until_gone("when #1 ends")
    told = space.run("why", "S2", code=0).out
    assert "when #1 ends" in told


def test_what_a_limit_would_start_is_what_it_starts(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    shown.move(SHIFT_TAB)
    shown.press("+")
    shown.until_shown("1 → 2", "#2 S2", "#3 S3")
    assert space.starts() == ["S1"], "nothing is applied before enter"
    shown.press(ENTER)
    shown.until(lambda _: space.starts() == ["S1", "S2"])
    shown.press("u")
    shown.until_shown("2/1")
    assert space.view().limits["agent:solo"].value == 1


def test_what_waits_is_moved_edited_and_deleted_by_keys(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    space.run("send", "solo", "hello", "--on-busy", "queue", code=0)
    shown.press("Q")
    shown.until_shown("queue", "hello")
    assert queued(space) == ["hello", "S2", "S3"]
    shown.press("g", "J")
    shown.until(lambda _: queued(space) == ["S2", "hello", "S3"])
    shown.press(ENTER)
    shown.until_shown("editing #4")
    shown.press(" now", ENTER)
    shown.until(lambda _: queued(space) == ["S2", "hello now", "S3"])
    shown.until(lambda text: "editing #4" not in text and "‖" not in text)
    shown.press("x")
    shown.until_shown("y")
    shown.press("y")
    shown.until(lambda _: queued(space) == ["S2", "S3"])
    assert space.starts() == ["S1"]
