"""The output of an attempt that no runner writes."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from batchdeck.core.executors import runner
from batchdeck.core.private import make_private_folder, write_private


def open_output(run: Path) -> BinaryIO:
    """An empty file of the owner's alone, where the attempt's output is looked for."""
    make_private_folder(run)
    write_private(run / runner.OUTPUT)
    return open(run / runner.OUTPUT, "ab", buffering=0)
