"""A terminal driver and a screen that never block the event loop on the terminal.

They reach into names that Textual keeps to itself, which is why its version is pinned and why
the tests drive them in a real pseudo-terminal.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import IO, Any, TextIO

import textual.drivers.linux_driver as linux_driver
from textual.driver import Driver
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver

HANGUP_EXIT = 129
_LAST_WRITES_SECONDS = 5.0


class SafeWriter(WriterThread):
    """Writes in its own thread, knows its backlog, and survives a terminal that is gone.

    Its queue has no limit: what goes into it is limited by `FlowMixin`, which skips paints while
    bytes are pending.
    """

    def __init__(self, file: IO[str], on_dead: Callable[[], None]) -> None:
        super().__init__(file)
        self._texts: SimpleQueue[str | None] = SimpleQueue()
        self._on_dead = on_dead
        self.dead = False
        # one counter for each thread, so that neither needs a lock
        self._given = 0
        self._written = 0

    @property
    def pending(self) -> int:
        """Characters that the terminal has not taken yet."""
        return 0 if self.dead else self._given - self._written

    def write(self, text: str) -> None:
        """Takes text from the event loop; never blocks."""
        if not self.dead:
            self._given += len(text)
            self._texts.put(text)

    def run(self) -> None:
        try:
            while self._write_once():
                pass
        except (OSError, ValueError):
            # EIO or a closed file: nobody looks any more
            self.dead = True
            self._on_dead()

    def _write_once(self) -> bool:
        """Writes all that has piled up; False after the last text."""
        texts = [self._texts.get()]
        while texts[-1] is not None and not self._texts.empty():
            texts.append(self._texts.get())
        shown = "".join(text for text in texts if text)
        self._file.write(shown)
        self._file.flush()
        self._written += len(shown)
        return texts[-1] is not None

    def stop(self) -> None:
        self._texts.put(None)
        # a daemon thread: a stuck terminal cannot hold up the exit
        self.join(timeout=_LAST_WRITES_SECONDS)


class SafeDriver(LinuxDriver):
    """The driver for a terminal that may be slow, may die, and may send a stray SIGCONT."""

    _active = False

    def __init__(self, app: Any, **given: Any) -> None:
        super().__init__(app, **given)
        output: Any = terminal_output()
        self._file = output or self._file

    def start_application_mode(self) -> None:
        loop, app = asyncio.get_running_loop(), self._app

        def leave() -> None:
            self.exit_event.set()  # ends the input thread, which would spin at the end of the file
            if not loop.is_closed():
                loop.call_soon_threadsafe(app.exit, None, HANGUP_EXIT)

        def safe_writer(file: IO[str]) -> SafeWriter:
            return SafeWriter(file, leave)

        # the driver builds its writer itself, from a name in its module
        module: Any = linux_driver
        stock, module.WriterThread = module.WriterThread, safe_writer
        try:
            super().start_application_mode()  # type: ignore[no-untyped-call]
        finally:
            module.WriterThread = stock
        self._active = True

    def stop_application_mode(self) -> None:
        self._active = False
        super().stop_application_mode()

    def _sigcont_application(self, *arguments: Any) -> None:
        # one that arrives while the screen is up would start a second input thread
        if not self._active:
            super()._sigcont_application(*arguments)


class FlowMixin:
    """Skips paints while the terminal has unwritten bytes; what is dirty waits and adds up."""

    def _on_timer_update(self) -> None:
        writer = getattr(self.app._driver, "_writer_thread", None)  # type: ignore[attr-defined]
        if getattr(writer, "pending", 0) > 0:
            self._tell_app("terminal_blocked")
            return  # the timer runs on and tries again
        self._tell_app("terminal_flows")
        began = time.perf_counter()
        super()._on_timer_update()  # type: ignore[misc]
        self._tell_app("drawn", time.perf_counter() - began)

    def _tell_app(self, news: str, *values: float) -> None:
        hear = getattr(self.app, news, None)  # type: ignore[attr-defined]
        if hear is not None:
            hear(*values)


def driver_for_terminal() -> type[Driver] | None:
    """The safe driver where there is a POSIX terminal; None: let Textual choose."""
    if os.name != "posix" or sys.__stdin__ is None:
        return None
    # an explicit choice (a web server's, a test's) is not ours to overrule
    if os.environ.get("TEXTUAL_DRIVER"):
        return None
    return SafeDriver if sys.__stdin__.isatty() and terminal_output() is not None else None


def terminal_output() -> TextIO | None:
    """Where the screen is drawn: on standard error, as Textual does, unless that is no terminal
    and standard output is one; None where neither is."""
    streams = (sys.__stderr__, sys.__stdout__)
    return next((one for one in streams if one is not None and one.isatty()), None)
