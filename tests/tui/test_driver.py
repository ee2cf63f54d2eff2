"""The driver in a real pseudo-terminal: slow, gone, and interrupted."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")

ROOT = Path(__file__).parents[2]
COLUMNS = 120
PROGRAM = """
import asyncio, os, time
from batchdeck.tui.app import DeckApp
from tests.support.stub_deck import StubDeck
from tests.tui.examples import busy_view

async def main():
    app = DeckApp(StubDeck(busy_view()))
    worst = 0.0
    async def watch():
        nonlocal worst
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.02)
            worst = max(worst, time.monotonic() - before - 0.02)
            if {flood}:
                app.refresh(layout=True)
    watching = asyncio.create_task(watch())
    result = await app.run_async()
    watching.cancel()
    try:
        print("RESULT", result, app.return_code, "WORST", round(worst, 3), flush=True)
    except OSError:
        pass  # the terminal is gone
    os._exit(app.return_code or 0)

asyncio.run(main())
"""


CHANGING = """
import asyncio, dataclasses, signal
from batchdeck.tui.app import DeckApp
from tests.support.stub_deck import FixedClock, StubDeck
from tests.tui.examples import busy_view

deck = StubDeck(busy_view())

def change():
    view = deck.view
    turns = {**view.turns, 402: dataclasses.replace(view.turns[402], error="changed in a word")}
    deck.publish(dataclasses.replace(view, turns=turns))

async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, change)
    await DeckApp(deck, clock=FixedClock()).run_async()

asyncio.run(main())
"""
MOST_BYTES_A_COLUMN = 4


class Terminal:
    """A program in a pseudo-terminal of its own, which is read only when asked to."""

    def __init__(self, program: str, *, ignore_hangup: bool = False) -> None:
        self.main, second = pty.openpty()
        fcntl.ioctl(second, termios.TIOCSWINSZ, struct.pack("HHHH", 36, COLUMNS, 0, 0))
        self.before = termios.tcgetattr(second)
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}

        def own_terminal() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if ignore_hangup:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=second,
            stdout=second,
            stderr=second,
            env=environment,
            cwd=ROOT,
            preexec_fn=own_terminal,
        )
        self.second = second
        self.shown = b""

    def read(self, seconds: float, bytes_per_second: int | None = None) -> bytes:
        """Takes what is written for so long, or no faster than told."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.main], [], [], 0.02)[0]:
                continue
            try:
                self.shown += os.read(self.main, 240 if bytes_per_second else 65_536)
            except OSError as gone:
                if gone.errno == errno.EIO:
                    break
                raise
            if bytes_per_second:
                time.sleep(240 / bytes_per_second)
        return self.shown

    def wait_for(self, words: bytes, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while words not in self.shown:
            assert time.monotonic() < end, self.shown[-2_000:]
            self.read(0.05)

    def press(self, keys: bytes) -> None:
        os.write(self.main, keys)

    def close(self) -> None:
        for descriptor in (self.main, self.second):
            try:
                os.close(descriptor)
            except OSError:
                pass
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def program(flood: bool = False) -> str:
    return PROGRAM.replace("{flood}", str(flood))


def test_leaving_restores_the_terminal(terminals: list[Terminal]) -> None:
    terminal = Terminal(program())
    terminals.append(terminal)
    terminal.wait_for(b"queued")
    terminal.press(b"q")
    terminal.wait_for(b"Detach")
    terminal.press(b"\r")
    terminal.wait_for(b"RESULT Leave(how=<How.DETACH")
    terminal.process.wait(10)
    assert termios.tcgetattr(terminal.second) == terminal.before
    for sequence in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l"):
        assert sequence in terminal.shown
    assert terminal.process.returncode == 0


def test_one_changed_row_is_written_in_four_bytes_a_column_at_most(
    terminals: list[Terminal],
) -> None:
    terminal = Terminal(CHANGING)
    terminals.append(terminal)
    terminal.wait_for(b"queued")
    terminal.read(1.0)
    before = len(terminal.shown)
    terminal.process.send_signal(signal.SIGUSR1)
    terminal.wait_for(b"changed in a word")
    terminal.read(0.5)
    written = len(terminal.shown) - before
    assert written <= MOST_BYTES_A_COLUMN * COLUMNS
    terminal.process.send_signal(signal.SIGKILL)


def test_a_stray_continue_does_not_hinder_leaving(terminals: list[Terminal]) -> None:
    terminal = Terminal(program())
    terminals.append(terminal)
    terminal.wait_for(b"queued")
    terminal.process.send_signal(signal.SIGCONT)
    terminal.read(0.3)
    terminal.press(b"q")
    terminal.wait_for(b"Detach")
    terminal.press(b"\r")
    terminal.wait_for(b"RESULT")
    terminal.process.wait(10)
    assert terminal.process.returncode == 0


def test_a_slow_terminal_does_not_hold_up_the_loop(terminals: list[Terminal]) -> None:
    terminal = Terminal(program(flood=True))
    terminals.append(terminal)
    terminal.wait_for(b"queued")
    terminal.read(3.0, bytes_per_second=4_800)
    terminal.press(b"q")
    terminal.read(1.0)
    terminal.press(b"\r")
    terminal.wait_for(b"WORST")
    terminal.read(0.2)
    worst = float(terminal.shown.rpartition(b"WORST ")[2].split()[0])
    assert worst < 0.5


def test_a_terminal_that_is_gone_ends_the_program_though_hangups_are_ignored(
    terminals: list[Terminal],
) -> None:
    terminal = Terminal(program(flood=True), ignore_hangup=True)
    terminals.append(terminal)
    terminal.wait_for(b"queued")
    os.close(terminal.second)
    os.close(terminal.main)
    started = time.monotonic()
    assert terminal.process.wait(15) == 129
    assert time.monotonic() - started < 10
