"""Texts that are given as an argument, or for `-` on standard input."""

from __future__ import annotations

import sys

from batchdeck.core.errors import BadInput
from batchdeck.core.text import is_whole


def given_text(argument: str) -> str:
    """The argument, or where that is `-`, all of standard input.

    Raises:
        BadInput: there is none, it cannot be read, or it is not UTF-8.
    """
    if argument != "-":
        return argument
    if sys.stdin is None:
        raise BadInput("There is no standard input to read from.")
    try:
        text = sys.stdin.read()
    except UnicodeDecodeError:
        raise BadInput(_NOT_UTF_8) from None
    except OSError as error:
        raise BadInput(f"Standard input cannot be read: {error.strerror or error}.") from error
    if not is_whole(text):
        raise BadInput(_NOT_UTF_8)
    return text


_NOT_UTF_8 = "Standard input is not UTF-8."
