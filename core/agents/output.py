"""The output of an attempt that no runner writes."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from batchdeck.core.executors import attempt_files
from batchdeck.core.private import make_private_folder, write_private


def open_output(run: Path) -> BinaryIO:
    """An empty file of the owner's alone, where the attempt's output is looked for."""
    make_private_folder(run)
    write_private(run / attempt_files.OUTPUT)
    return open(run / attempt_files.OUTPUT, "ab", buffering=0)
