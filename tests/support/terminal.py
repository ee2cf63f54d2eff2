"""A real pseudo-terminal: a program in it, its screen as text, keys, sizes, and how it was left."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pyte

LAUNCHER = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " os.execv(sys.argv[1], sys.argv[1:])"
)
ALTERNATE_SCREEN_ON, ALTERNATE_SCREEN_OFF = b"\x1b[?1049h", b"\x1b[?1049l"
CURSOR_SHOWN = b"\x1b[?25h"
PATIENCE = 30.0


class Terminal:
    """One program in a terminal of its own; it is read whenever something is waited for."""

    def __init__(
        self,
        command: list[str],
        folder: Path,
        environment: Mapping[str, str],
        columns: int = 120,
        rows: int = 36,
        errors: Path | None = None,
    ) -> None:
        self._main, self._second = pty.openpty()
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        """Everything the program has written."""
        self._set_size(columns, rows)
        self._open: tuple[int, ...] = (self._main, self._second)
        self._before = termios.tcgetattr(self._second)
        os.set_blocking(self._main, False)
        told = os.dup(self._second) if errors is None else os.open(errors, os.O_CREAT | os.O_WRONLY)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LAUNCHER, *command],
            cwd=folder,
            env={**environment, "COLORTERM": "truecolor"},
            stdin=self._second,
            stdout=self._second,
            stderr=told,
            start_new_session=True,
        )
        os.close(told)

    # -- looking

    @property
    def text(self) -> str:
        """The screen, line by line, as far as it has been read."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def read(self, seconds: float = 0.02) -> str:
        """Takes in what comes within a time, and returns the screen."""
        ready, _, _ = select.select([self._main], [], [], seconds)
        if ready:
            try:
                data = os.read(self._main, 1 << 20)
            except OSError:
                data = b""
            self.raw += data
            self._stream.feed(data.replace(b"\x1b[>1u", b"").replace(b"\x1b[<u", b""))
        return self.text

    def until(self, condition: Callable[[str], object], seconds: float = PATIENCE) -> str:
        """Waits until something holds of the screen's text."""
        end = time.monotonic() + seconds
        while not condition(self.read()):
            assert time.monotonic() < end, f"not reached; the screen was:\n{self.text}"
            assert self.process.poll() is None, f"it has left; the screen was:\n{self.text}"
        return self.text

    def until_shown(self, *words: str, seconds: float = PATIENCE) -> str:
        return self.until(lambda text: all(word in text for word in words), seconds)

    def until_gone(self, words: str, seconds: float = PATIENCE) -> str:
        return self.until(lambda text: words not in text, seconds)

    # -- doing

    def press(self, *keys: str) -> None:
        """Types, one key or text after the other."""
        for key in keys:
            os.write(self._main, key.encode())

    def move(self, *keys: str) -> None:
        """Types keys that move, each once the screen has followed the one before."""
        for key in keys:
            self.press(key)
            before = -1
            while before != len(self.raw):
                before = len(self.raw)
                self.read(0.15)

    def resize(self, columns: int, rows: int) -> None:
        """Another size; the kernel tells the program."""
        self._set_size(columns, rows)
        self._screen.resize(rows, columns)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._second, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # -- leaving

    def leave(self, seconds: float = PATIENCE) -> int:
        """Waits until the program has left by itself, and returns its exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it does not leave; the screen was:\n{self.text}"
            self.read()
        seen = -1
        while seen != len(self.raw):  # a terminal gives at most 4 KiB at a time
            seen = len(self.raw)
            self.read(0.1)
        return self.process.returncode

    def is_restored(self) -> bool:
        """Whether the program gave the terminal back as it found it."""
        left = self.raw.rfind(ALTERNATE_SCREEN_OFF) > self.raw.rfind(ALTERNATE_SCREEN_ON)
        shown = self.raw.rfind(CURSOR_SHOWN) > self.raw.rfind(b"\x1b[?25l")
        return left and shown and termios.tcgetattr(self._second) == self._before

    def hang_up(self) -> None:
        """Closes the terminal under the program."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open = ()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()


CONTROL = {"escape": "\x1b", "enter": "\r", "tab": "\t", "shift+tab": "\x1b[Z", "down": "\x1b[B"}
ESCAPE, ENTER, TAB, SHIFT_TAB, DOWN = CONTROL.values()
