"""Writes down a failure of the screen, without the values of anything."""

from __future__ import annotations

import traceback
from pathlib import Path

from batchdeck.core.paths import DeckPaths

NAME = "crash.txt"


def report_crash(paths: DeckPaths, error: BaseException) -> Path | None:
    """A traceback without locals, mode 0600, in the deck; None: it could not be written."""
    path = paths.root / NAME
    lines = "".join(traceback.format_exception(error, limit=30))
    try:
        path.unlink(missing_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(lines, "utf-8")
    except OSError:
        return None
    return path
