"""Standard output from a thread of its own: a reader that does not read must stop nobody."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque

MOST_BYTES = 16 * 1024 * 1024
"""What may wait for a slow reader; what comes beyond is left out, and counted."""
LAST_WORDS_SECONDS = 2.0
"""How long the end waits for a reader to take what is left."""
OVERTAKING_SECONDS = 0.2
"""How long words on standard error wait for those that were said before."""


class Outlet:
    """A text stream whose `write` never waits, and whose reader's fate is no fault of ours."""

    encoding = "utf-8"

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._left_out = 0
        self._closed = False
        self._is_slow = False
        """The reader did not take what it was given when that was waited for."""
        self.error: OSError | None = None
        """Why nothing can be written any more."""
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._pour, name="standard output", daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        """Takes text, to be written as soon as the reader lets us."""
        data = text.encode(sys.stdout.encoding or "utf-8", "replace")
        with self._changed:
            if self.error is not None:
                return len(text)
            if self._waiting + len(data) > MOST_BYTES:
                self._left_out += text.count("\n")
                return len(text)
            if self._left_out:
                data = f"… {self._left_out} lines were left out\n".encode("utf-8", "replace") + data
                self._left_out = 0
            self._pieces.append(data)
            self._waiting += len(data)
            self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Nobody waits for the reader."""

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def settle(self) -> None:
        """Gives what was said before a moment to be read, so that other words do not overtake it.

        Of a reader that does not read only this once: it must stop nobody.
        """
        with self._changed:
            if not self._is_slow:
                taken = self._changed.wait_for(self._is_through, OVERTAKING_SECONDS)
                self._is_slow = not taken

    def _is_through(self) -> bool:
        return self._waiting == 0 or self.error is not None

    def close(self) -> None:
        """Gives the reader a moment to take what is left."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(LAST_WORDS_SECONDS)

    def _pour(self) -> None:
        while True:
            with self._changed:
                while not self._pieces and not self._closed:
                    self._changed.wait()
                if not self._pieces:
                    return
                piece = self._pieces.popleft()
            try:
                self._write(piece)
            except OSError as error:
                with self._changed:
                    self.error = error
                    self._pieces.clear()
                    self._changed.notify_all()
                return
            with self._changed:
                self._waiting -= len(piece)
                self._is_slow = False
                self._changed.notify_all()

    def _write(self, piece: bytes) -> None:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
