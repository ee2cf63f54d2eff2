"""The output of an attempt that no runner writes: the events that came, one a line."""

from __future__ import annotations

import json
from pathlib import Path

from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import OUTPUT_CAP
from batchdeck.core.private import make_private_folder, write_private


class EventOutput:
    """A file of the owner's alone, where an attempt's output is looked for; it has a cap."""

    def __init__(self, run: Path) -> None:
        make_private_folder(run)
        write_private(run / attempt_files.OUTPUT)
        self._file = open(run / attempt_files.OUTPUT, "ab", buffering=0)  # noqa: SIM115 - kept open
        self._size = 0

    def write(self, event: bytes) -> None:
        """One event as it came; a newline in it is a blank, as JSON has it."""
        if self._size > OUTPUT_CAP:
            return
        line = event.replace(b"\n", b" ") + b"\n"
        self._size += len(line)
        self._file.write(line)

    def write_error(self, words: str) -> None:
        """An error that came as no event."""
        self.write(json.dumps({"error": {"message": words}}).encode())

    def close(self) -> None:
        self._file.close()
