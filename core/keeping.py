"""What a deck can keep: numbers that JSON and SQLite both hold, and texts that are whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from batchdeck.core.errors import BadInput
from batchdeck.core.text import is_whole

LARGEST = 2**53
"""Of anything that is counted or numbered."""


def refuse_what_cannot_be_kept(value: Any) -> None:
    """Looks through a value: dataclasses, mappings and sequences of texts and numbers.

    Raises:
        BadInput: a number is beyond `LARGEST`, or a text has half a character in it.
    """
    if value is None or isinstance(value, float):
        return
    if isinstance(value, str):
        if not (value.isascii() or is_whole(value)):
            raise BadInput("A text has half a character in it (a lone surrogate).")
    elif isinstance(value, int):
        if abs(value) > LARGEST:
            raise BadInput(f"{value} is too large a number.")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            refuse_what_cannot_be_kept(name)
            refuse_what_cannot_be_kept(item)
    elif isinstance(value, tuple | list | frozenset):
        for item in value:
            refuse_what_cannot_be_kept(item)
    else:
        for name in _fields_of(value.__class__):
            refuse_what_cannot_be_kept(getattr(value, name))


@cache
def _fields_of(kind: type) -> tuple[str, ...]:
    """Of a dataclass, each looked up once: a batch may have 10,000 tasks."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
