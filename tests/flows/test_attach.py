"""A second dashboard: it sees and does what the first does, and outlives the supervisor."""

from __future__ import annotations

import signal

import pytest

from batchdeck.core.control.remote import GONE
from tests.flows.conftest import OpenTerminal
from tests.flows.test_gates_end_to_end import Limited, batch, settles_at
from tests.support.terminal import ENTER, SHIFT_TAB, Terminal
from tests.support.workspace import COMMAND, Workspace


def test_a_limit_raised_there_lets_the_next_turn_start(
    space: Workspace, terminal: OpenTerminal
) -> None:
    space.start_run(batch(space, Limited("agent"), 2), "--headless", begun=2)
    seat = terminal("attach")
    seat.until_shown("wide", "READY", "2/2")
    seat.move(SHIFT_TAB)
    seat.press("+")
    seat.until_shown("starts now:   #3 T3")
    seat.press(ENTER)
    settles_at(space, 3, lambda condition: seat.until(lambda _: condition()))
    seat.until_shown("3/3")
    seat.press("q")
    assert seat.leave() == 0
    assert seat.is_restored()
    assert len(space.at_work()) == 3, "leaving a second dashboard ends nothing"


def test_one_that_only_looks_says_so_and_changes_nothing(
    space: Workspace, terminal: OpenTerminal
) -> None:
    space.start_run(batch(space, Limited("agent"), 2), "--headless", begun=2)
    seat = terminal("attach", "--read-only")
    seat.until_shown("2/2", "x stop")
    seat.press("x")
    seat.until_shown("this screen only looks on")
    assert len(space.at_work()) == 2


def test_errors_may_go_to_a_file_while_the_screen_is_shown(
    space: Workspace, terminal: OpenTerminal
) -> None:
    space.start_run(batch(space, Limited("agent"), 2), "--headless", begun=2)
    errors = space.folder / "errors.txt"
    seat = terminal("attach", errors=errors)
    seat.until_shown("2/2", "x stop")
    seat.press("q")
    assert seat.leave() == 0
    assert seat.is_restored()
    assert errors.read_text() == ""


def test_it_keeps_the_last_word_of_a_supervisor_that_was_killed_and_goes_on_with_the_next(
    space: Workspace, terminal: OpenTerminal
) -> None:
    process = space.start_run(batch(space, Limited("agent"), 2), "--headless", begun=2)
    seat = terminal("attach")
    seat.until_shown("2/2")
    process.send_signal(signal.SIGKILL)
    process.wait()
    seat.until_shown(GONE, "2/2", "T1")
    space.start("resume", "--headless", "--auto-resume")
    seat.until_gone(GONE)
    for number in range(1, 7):
        space.tell(f"T{number}")
    seat.until_shown("done 6 of 6")


def test_without_a_terminal_or_a_supervisor_it_says_what_to_do(
    space: Workspace, terminal: OpenTerminal
) -> None:
    assert "needs a terminal" in space.run("attach", code=2).err
    space.run("limit", "global=2", code=0)
    nobody = terminal("attach")
    nobody.until_shown("Nobody dispatches the deck")


def test_who_leaves_is_told_the_command_that_opens_this_very_deck_again(
    space: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tasks = [
        {"id": "T1", "agent": "coder", "prompt": "exit=1"},
        {"id": "T2", "agent": "coder", "prompt": space.until_told("T2")},
    ]
    file = space.batch(tasks=tasks, max_attempts=1)
    space.start_run(file, "--headless", begun=2)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    seat = Terminal(
        [str(COMMAND), "--deck", str(space.deck), "attach"], elsewhere, space.environment
    )
    try:
        seat.until_shown("1 failed")
        seat.press("q")
        assert seat.leave() == 0
        told = b"batchdeck --deck " + str(space.deck).encode() + b" tasks --status FAILED"
        assert told in seat.raw
    finally:
        seat.close()
