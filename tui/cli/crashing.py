"""Writes down a failure of the screen, without the values of anything."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

from batchdeck.core.paths import DeckPaths

NAME = "crash.txt"
_FRAMES = 30
"""Of each error, the innermost."""


def report_crash(paths: DeckPaths, error: BaseException) -> Path | None:
    """Where it failed, mode 0600, in the deck; None: it could not be written.

    Errors are named by their types: their words may quote a key, a prompt, or a path.
    """
    path = paths.root / NAME
    try:
        path.unlink(missing_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text("".join(_outline(error, set())), "utf-8")
    except OSError:
        return None
    return path


def _outline(error: BaseException, told: set[int]) -> Iterator[str]:
    """One error with those that it came from and those that are in its group, each once."""
    told.add(id(error))
    hidden = error.__suppress_context__
    cause = error.__cause__ or (None if hidden else error.__context__)
    if cause is not None and id(cause) not in told:
        yield from _outline(cause, told)
        yield "\nfrom which came:\n\n"
    yield from traceback.format_tb(error.__traceback__, limit=-_FRAMES)
    yield f"{type(error).__module__}.{type(error).__qualname__}\n"
    if not isinstance(error, BaseExceptionGroup):
        return
    for number, part in enumerate(error.exceptions, 1):
        if id(part) not in told:
            yield f"\nin this group, {number}:\n\n"
            yield from _outline(part, told)
