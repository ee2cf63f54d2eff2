"""Every way out of the dashboard: quick, with the right code, the terminal as it was, agents alone.

A few of the combinations are always tried; the others with `pytest -m crash tests/flows`.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.support.terminal import ALTERNATE_SCREEN_ON, Terminal
from tests.support.workspace import COMMAND, Workspace

SECONDS = 3.0
RAISING = """
import sys
import batchdeck.tui.screens.help as help
def compose(self):
    raise RuntimeError("a fault of the screen")
help.HelpScreen.compose = compose
from batchdeck.__main__ import main
main()
"""
"""The program, with a fault in the screen that `?` opens."""
RAISING_IN_TURN = """
import batchdeck.tui.screens.compose as compose
def boom(self):
    raise RuntimeError("a fault of the screen")
compose.ComposeScreen.action_keep = boom
from batchdeck.__main__ import main
main()
"""
"""The program, with a fault where esc is pressed while a message is written."""

WAYS = ("TERM", "HUP", "QUIT", "INT", "exception", "closed")
MOMENTS = ("idle", "busy", "modal", "first paint")
ALWAYS = {
    ("TERM", "first paint"),
    ("HUP", "modal"),
    ("QUIT", "idle"),
    ("INT", "busy"),
    ("exception", "busy"),
    ("closed", "modal"),
}


def cases() -> Iterator[object]:
    for way in WAYS:
        for moment in MOMENTS:
            if way == "exception" and moment == "first paint":
                continue  # no key is read yet
            marks = () if (way, moment) in ALWAYS else (pytest.mark.crash,)
            yield pytest.param(way, moment, marks=marks, id=f"{way}-{moment}")


@pytest.fixture
def shown(space: Workspace) -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for one in opened:
        one.close()


@pytest.mark.parametrize(("way", "moment"), cases())
def test_a_way_out_is_quick_and_leaves_everything_as_it_was(
    way: str, moment: str, space: Workspace, shown: list[Terminal]
) -> None:
    terminal = open_at(moment, space)
    shown.append(terminal)
    began = time.monotonic()
    code = go(way, terminal)
    assert time.monotonic() - began < SECONDS
    if way == "exception":
        assert code == 1
    else:
        assert code == 128 + (signal.SIGHUP if way == "closed" else signal.Signals[f"SIG{way}"])
    if way != "closed":
        assert terminal.is_restored()
    assert b"Traceback" not in terminal.raw
    if moment in ("busy", "modal"):
        assert space.at_work() == ["S1"], "what runs goes on"


@pytest.mark.skipif(sys.platform != "linux", reason="an open file is seen in /proc")
@pytest.mark.parametrize("way", ["TERM", "HUP", "QUIT", "INT", "closed"])
def test_a_migration_that_has_to_wait_is_left_at_once(
    way: str, space: Workspace, shown: list[Terminal]
) -> None:
    space.deck.mkdir(mode=0o700)
    file = space.deck / "deck.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        terminal = Terminal([str(COMMAND)], space.folder, space.environment)
        shown.append(terminal)
        terminal.until(lambda _: str(file) in open_files(terminal.process.pid))
        began = time.monotonic()
        code = go(way, terminal)
        assert time.monotonic() - began < SECONDS
    assert code == -(signal.SIGHUP if way == "closed" else signal.Signals[f"SIG{way}"])
    assert terminal.raw == b"", "the screen was not opened yet"
    task = {"id": "T1", "agent": "coder", "prompt": "say=x"}
    space.run("run", space.batch(tasks=[task]), "--headless", code=0)


def open_files(pid: int) -> list[str]:
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(os.readlink(link))
    return found


def open_at(moment: str, space: Workspace) -> Terminal:
    """The dashboard at a moment of its life."""
    arguments: list[object] = []
    if moment != "idle":
        task = {"id": "S1", "agent": "solo", "prompt": space.until_told("S1")}
        arguments = ["run", space.batch(agents={"solo": {}}, tasks=[task])]
    command = [sys.executable, "-c", RAISING, *map(str, arguments)]
    terminal = Terminal(command, space.folder, space.environment)
    if moment == "first paint":
        terminal.until(lambda _: ALTERNATE_SCREEN_ON in terminal.raw)
        return terminal
    terminal.until_shown("slots")
    if moment in ("busy", "modal"):
        terminal.until(lambda _: space.starts() == ["S1"])
        terminal.until_shown("solo", "1/1")
    if moment == "modal":
        terminal.press("q")
        terminal.until_shown("Detach")
    return terminal


def go(way: str, terminal: Terminal) -> int:
    """Leaves, and returns the exit code."""
    if way == "exception":
        if "Detach" in terminal.text:
            terminal.press("\x1b")
            terminal.until_gone("Detach")
        terminal.press("?")
    elif way == "closed":
        terminal.hang_up()
        return terminal.process.wait(SECONDS)
    else:
        os.kill(terminal.process.pid, signal.Signals[f"SIG{way}"])
    return terminal.leave(SECONDS + 5)


@pytest.mark.parametrize("way", ["TERM", "HUP", "closed", "exception", "ctrl+q"])
def test_what_is_being_typed_is_there_at_the_next_start(
    way: str, space: Workspace, shown: list[Terminal]
) -> None:
    task = {"id": "S1", "agent": "solo", "prompt": "say=x"}
    space.run("run", space.batch(agents={"solo": {}}, tasks=[task]), "--headless", code=0)
    command = [sys.executable, "-c", RAISING_IN_TURN]
    terminal = Terminal(command, space.folder, space.environment)
    shown.append(terminal)
    terminal.until_shown("S1")
    terminal.press("m")
    terminal.until_shown("to solo about S1")
    terminal.press("half a sentence")
    terminal.until_shown("half a sentence")
    if way == "ctrl+q":
        terminal.press("\x11")
        assert terminal.leave(SECONDS + 5) == 0
    elif way == "exception":
        terminal.press("\x1b")
        assert terminal.leave(SECONDS + 5) == 1
    else:
        go(way, terminal)
    again = Terminal([str(COMMAND)], space.folder, space.environment)
    shown.append(again)
    again.until_shown("S1")
    again.press("m")
    again.until_shown("to solo about S1", "half a sentence")
    file = space.deck / "drafts.json"
    assert file.stat().st_mode & 0o777 == 0o600


def test_after_a_fault_of_the_screen_a_report_says_where_and_of_what_kind_without_its_words(
    space: Workspace, shown: list[Terminal]
) -> None:
    terminal = open_at("busy", space)
    shown.append(terminal)
    assert go("exception", terminal) == 1
    (report,) = Path(space.deck).glob("crash*")
    told = report.read_text()
    assert "builtins.RuntimeError" in told
    assert "in compose" in told
    assert "a fault of the screen" not in told


def test_an_interrupt_while_it_is_still_loading_ends_it_without_a_word(space: Workspace) -> None:
    modules = space.folder / "modules"
    modules.mkdir()
    interrupts = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    (modules / "anyio.py").write_text(interrupts)
    ended = space.run("status", env={"PYTHONPATH": str(modules)})
    assert (ended.code, ended.err) == (-signal.SIGINT, "")


@pytest.mark.parametrize("way", ["ctrl+q", "HUP", "closed", "KILL"])
def test_what_was_being_edited_is_not_held_for_ever(
    way: str, space: Workspace, shown: list[Terminal]
) -> None:
    tasks = [{"id": f"S{n}", "agent": "solo", "prompt": space.until_told(f"S{n}")} for n in (1, 2)]
    file = space.batch(agents={"solo": {}}, tasks=tasks)
    terminal = Terminal([str(COMMAND), "run", str(file)], space.folder, space.environment)
    shown.append(terminal)
    terminal.until(lambda _: space.starts() == ["S1"])
    terminal.until_shown("S2")
    terminal.press("Q")
    terminal.until_shown("queue")
    terminal.press("\r")
    terminal.until_shown("editing #2")
    assert space.turn("S2").held_by == "operator, editing"
    if way == "ctrl+q":
        terminal.press("\x11")
        terminal.until_shown("Detach")
        terminal.press("\r")
        assert terminal.leave(SECONDS + 5) == 0
    elif way == "KILL":
        terminal.process.kill()
        terminal.process.wait(SECONDS)
        space.tell("S1")
        space.tell("S2")
        space.run("resume", "--headless", "--auto-resume", code=0)
        assert space.starts() == ["S1", "S2"]
        return
    else:
        go(way, terminal)
    assert space.turn("S2").held_by is None
