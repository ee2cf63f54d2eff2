"""The output of an attempt that no runner writes: the events that came, one a line."""

from __future__ import annotations

import contextlib
import json
import logging
from pathlib import Path

from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import OUTPUT_CAP
from batchdeck.core.private import make_private_folder, write_private

_log = logging.getLogger(__name__)


class EventOutput:
    """A file of the owner's alone, where an attempt's output is looked for; it has a cap.

    What cannot be kept ends nothing: the agent's work is worth more than the record of it.
    """

    def __init__(self, run: Path) -> None:
        """Raises OSError where there can be no output at all."""
        make_private_folder(run)
        write_private(run / attempt_files.OUTPUT)
        self._attempt = run.name
        self._file = open(run / attempt_files.OUTPUT, "ab", buffering=0)  # noqa: SIM115 - kept open
        self._size = 0
        self._gap: str | None = None
        """Why what came last could not be kept."""

    def write(self, event: bytes) -> None:
        """One event as it came; a newline in it is a blank, as JSON has it."""
        if self._size > OUTPUT_CAP or self._file.closed:
            return
        line = event.replace(b"\n", b" ") + b"\n"
        if self._gap is not None and not self._keep(b"\n" + _as_error(self._gap) + b"\n"):
            return
        self._gap = None
        self._keep(line)

    def write_error(self, words: str) -> None:
        """An error that came as no event."""
        self.write(_as_error(words))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()

    def _keep(self, lines: bytes) -> bool:
        """Whether all of it could be written; if not, that is said once there is room again."""
        try:
            written = self._file.write(lines)
        except OSError as error:
            words = f"the output could not be kept: {error.strerror or error}"
        else:
            self._size += written
            if written == len(lines):
                return True
            words = "the output could not be kept whole"
        if self._gap is None:
            self._gap = words
            _log.error("attempt %s: %s", self._attempt, words)
        return False


def _as_error(words: str) -> bytes:
    return json.dumps({"error": {"message": words}}).encode()
