"""The dashboard in a real pseudo-terminal, with real agents: seen, steered and left."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.flows.conftest import OpenTerminal
from tests.support.terminal import ENTER, ESCAPE, SHIFT_TAB, Terminal
from tests.support.workspace import Workspace, remains


def batch(space: Workspace, tasks: int = 3) -> Path:
    """`solo` works on S1, and S2 waits for it; each until it is told."""
    return space.batch(
        agents={"solo": {}},
        tasks=[
            {"id": f"S{n}", "agent": "solo", "prompt": space.until_told(f"S{n}")}
            for n in range(1, tasks + 1)
        ],
    )


def to_agents(terminal: Terminal) -> None:
    """Moves to the table of agents."""
    terminal.move(SHIFT_TAB)


def begin(space: Workspace, terminal: OpenTerminal, **given: int) -> Terminal:
    shown = terminal("run", batch(space), **given)
    shown.until_shown("solo", "1/1")
    shown.until(lambda _: space.starts() == ["S1"])
    return shown


@pytest.mark.parametrize(("columns", "rows"), [(120, 36), (80, 24)])
def test_the_deck_comes_up_counts_and_says_why_each_waits(
    columns: int, rows: int, space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal, columns=columns, rows=rows)
    text = shown.until_shown("READY", "S1", "S2")
    assert "solo 1/1" in text or "agent solo" in text
    space.tell("S1")
    shown.until(lambda text: "S2" in text and space.starts() == ["S1", "S2"])
    shown.until_shown("1 done" if "1 done" in shown.text else "1")
    assert space.status()["batches"][0]["done"] == 1


def test_a_limit_raised_by_key_starts_more_at_once(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    to_agents(shown)
    shown.press("+")
    shown.until_shown("1 → 2", "starts now")
    shown.press(ENTER)
    shown.until_shown("2/2")
    shown.until(lambda _: space.starts() == ["S1", "S2"])
    shown.press("-", "-", ENTER)
    shown.until_shown("2/0", "closed")
    assert sorted(space.at_work()) == ["S1", "S2"], "lowering stops nothing"


def test_another_size_keeps_everything_on_the_screen(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    for columns, rows in ((80, 24), (60, 20), (160, 50)):
        shown.resize(columns, rows)
        shown.until_shown("solo", "S1")
        assert all(len(line) <= columns for line in shown.text.splitlines())


def write(shown: Terminal, text: str) -> None:
    """Writes to the agent under the cursor, and sends."""
    to_agents(shown)
    shown.press("m")
    shown.until_shown("to solo")
    shown.press(text)
    shown.until_shown(text)
    shown.press(ENTER)


def open_busy_prompt(shown: Terminal, text: str = "say=hello") -> None:
    write(shown, text)
    shown.until_shown("solo is busy", "#1")


def test_the_busy_prompt_names_holders_and_place_and_adds_to_the_queue(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    open_busy_prompt(shown)
    shown.until_shown(
        "#1  S1", "yours goes 1st, with Next in queue too: before 2 turns", "Send now"
    )
    shown.press(ENTER)
    shown.until_gone("solo is busy")
    shown.until(lambda _: space.status()["queued"] == 3)
    space.tell("S1")
    shown.until(lambda _: space.starts()[:2] == ["S1", "#4"])


def test_send_now_starts_the_message_beside_what_runs(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    open_busy_prompt(shown)
    shown.until_shown("Send now")
    shown.press("f")
    shown.until(lambda _: "#4" in space.starts())
    events = space.run("events", "--json", code=0).lines
    (sent,) = [event for event in events if event["kind"] == "message.sent"]
    assert (sent["forced"], sent["bypassed"]) == (True, ["agent"])


def test_escape_stores_nothing_and_gives_the_text_back(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    open_busy_prompt(shown, "please mend it")
    shown.press(ESCAPE)
    shown.until_gone("solo is busy")
    shown.until_shown("please mend it")
    assert space.status()["queued"] == 2
    assert "message.sent" not in {e["kind"] for e in space.run("events", "--json").lines}


def test_while_the_prompt_is_open_a_slot_that_frees_is_seen_and_enter_just_sends(
    space: Workspace, terminal: OpenTerminal
) -> None:
    file = space.batch(
        agents={"solo": {}},
        tasks=[
            {"id": "S1", "agent": "solo", "prompt": space.until_told("S1")},
        ],
    )
    shown = terminal("run", file)
    shown.until_shown("solo", "1/1")
    shown.until(lambda _: space.starts() == ["S1"])
    open_busy_prompt(shown)
    space.tell("S1")
    shown.until(lambda _: not space.at_work())
    ended = time.monotonic()
    shown.until_shown("solo is free")
    assert time.monotonic() - ended < 2, "seen without a key"
    shown.press(ENTER)
    shown.until(lambda _: space.starts() == ["S1", "#2"])
    assert space.turn("#2").forced == ()


def test_another_process_that_raises_the_limit_frees_the_prompt_within_half_a_second(
    space: Workspace, terminal: OpenTerminal
) -> None:
    file = space.batch(
        agents={"solo": {}},
        tasks=[
            {"id": "S1", "agent": "solo", "prompt": space.until_told("S1")},
        ],
    )
    shown = terminal("run", file)
    shown.until_shown("solo", "1/1")
    open_busy_prompt(shown)
    delays = []
    for _ in range(2):  # a busy machine may delay one of them
        space.run("limit", "agent:solo=2", code=0)
        raised = time.monotonic()
        shown.until_shown("solo is free", "enter sends it")
        delays.append(time.monotonic() - raised)
        space.run("limit", "agent:solo=1", code=0)
        shown.until_shown("solo is busy")
    assert min(delays) < 0.5
    space.run("limit", "agent:solo=2", code=0)
    shown.until_shown("solo is free")
    shown.press(ENTER)
    shown.until(lambda _: space.starts() == ["S1", "#2"])
    assert space.turn("#2").forced == ()


def test_leaving_asks_what_becomes_of_what_runs_and_restores_the_terminal(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    shown.press("q")
    shown.until_shown("Detach", "1 goes on")
    shown.press(ESCAPE)
    shown.until_gone("Detach")
    shown.press("q")
    shown.until_shown("Detach")
    shown.press(ENTER)
    assert shown.leave() == 0
    assert shown.is_restored()
    assert space.at_work() == ["S1"], "what runs goes on"


def test_stop_all_ends_what_runs_before_it_leaves(space: Workspace, terminal: OpenTerminal) -> None:
    shown = begin(space, terminal)
    pid = space.records()[0]["pid"]
    shown.press("q")
    shown.until_shown("Stop all")
    shown.press("s")
    shown.until_shown("Stop all 1 running turn?")
    shown.press("y")
    shown.leave()
    assert shown.is_restored()
    assert not Path(f"/proc/{pid}").exists()


def test_escape_never_leaves_the_program(space: Workspace, terminal: OpenTerminal) -> None:
    shown = begin(space, terminal)
    shown.press("?")
    shown.until_shown("Looking")
    shown.press(ESCAPE, ESCAPE, ESCAPE)
    shown.until_gone("Looking")
    assert remains(lambda: shown.read() and shown.process.poll() is None, 0.3)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_detaches_and_restores_the_terminal(
    number: signal.Signals, space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    shown.process.send_signal(number)
    assert shown.leave() == 128 + number
    assert shown.is_restored()
    assert space.at_work() == ["S1"]


def test_who_leaves_is_told_what_goes_on_and_how_to_take_it_up_again(
    space: Workspace, terminal: OpenTerminal
) -> None:
    shown = begin(space, terminal)
    shown.press("q")
    shown.until_shown("Detach")
    shown.press(ENTER)
    assert shown.leave() == 0
    said = shown.raw[shown.raw.rfind(b"\x1b[?1049l") :].decode()
    assert "1 turn goes on, 2 wait. Take up again: batchdeck" in said


@pytest.mark.parametrize("arguments", [(), ("attach",)])
def test_a_terminal_that_can_draw_nothing_is_told_so_in_one_line_with_what_to_do(
    arguments: tuple[str, ...], space: Workspace, terminal: OpenTerminal
) -> None:
    space.environment["TERM"] = "dumb"
    shown = terminal(*arguments, columns=160)
    shown.until_shown("TERM is dumb: no dashboard can be drawn.", "--plain")
    assert shown.leave() == 2
    assert len(shown.text.strip().splitlines()) == 1
