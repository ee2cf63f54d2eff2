"""Errors whose words are fit for the screen."""

from __future__ import annotations


class BatchdeckError(Exception):
    """Something a person must know: one line in plain words.

    `exit_code` is what the command line ends with, `code` the stable name in JSON.
    """

    exit_code = 1
    code = "failed"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class BadInput(BatchdeckError):
    """What was given is wrong; nothing was changed."""

    exit_code = 2
    code = "bad_input"


class NotFound(BadInput):
    """No such agent, task, turn, batch or conversation."""

    code = "not_found"


class Ambiguous(BadInput):
    """A name that fits several things."""

    code = "ambiguous"


class Refused(BatchdeckError):
    """Busy or held: the thing may not happen now."""

    exit_code = 3
    code = "busy"


ILLEGAL_MOVE = "illegal_move"
"""The code of what a task's status does not allow."""


class NoSupervisor(BatchdeckError):
    """Nobody dispatches for this deck, and this needs somebody who does."""

    exit_code = 4
    code = "no_supervisor"


class DeckHeld(BatchdeckError):
    """Another supervisor holds the deck."""

    exit_code = 73
    code = "deck_held"


class StoreError(BatchdeckError):
    """The deck's file could not be read or written."""

    code = "store"
