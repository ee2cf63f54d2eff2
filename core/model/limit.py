"""Limits: how many turns may run at once, and under which name each number is changed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from batchdeck.core.errors import BadInput
from batchdeck.core.model.task import Status
from batchdeck.core.text import did_you_mean

DEFAULT_GLOBAL = 4
DEFAULT_GLOBAL_CAP = 32
DEFAULT_AGENT_CAP = 10

GLOBAL = "global"
ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class Limit:
    """One number in force. `value` None: no limit of its own; 0: closed."""

    name: str
    value: int | None
    changed_by: str = ""
    changed_ms: int = 0
    origin: str = "default"
    """Where it comes from: a flag, a file's name, a key, a command, or `default`."""
    explicit: bool = False
    """A person set it for this deck (and not merely a default or a batch's wish)."""


def batch_limit(batch: str) -> str:
    return f"batch:{batch}"


def status_limit(batch: str, status: Status) -> str:
    return f"status:{batch}/{status}"


def agent_limit(agent: str) -> str:
    return f"agent:{agent}"


def items_limit(batch: str) -> str:
    """Items of a foreach at work."""
    return f"items:{batch}"


def outstanding_limit(batch: str) -> str:
    """Items of a foreach that have begun and not ended."""
    return f"items:{batch}/outstanding"


_WHOLE = re.compile(r"[0-9]{1,9}")


def read_limit_value(text: str, name: str) -> int | None:
    """The number in `NAME=N`; `none` gives None.

    Raises:
        BadInput: not a whole number from 0 up, nor `none`.
    """
    if text.strip().lower() == "none":
        return None
    if not _WHOLE.fullmatch(text.strip()):
        raise BadInput(
            f"{name}: {text!r} is not a limit. Give a whole number of 9 digits at most, "
            "0 (closed) or more, or none."
        )
    return int(text.strip())


def read_status(text: str) -> Status:
    """A status by its name, whatever its case.

    Raises:
        BadInput: no such status; the message lists those there are.
    """
    try:
        return Status(text.strip().upper())
    except ValueError:
        near = did_you_mean(text.strip(), Status) or "."
        raise BadInput(
            f"{text.strip()!r} is not a status{near} There are: {', '.join(Status)}."
        ) from None


def read_status_limits(text: str) -> dict[Status, int | None]:
    """Limits per status from `READY=3,IN_PROGRESS=2`.

    Raises:
        BadInput: a part without `=`, an unknown or repeated status, or a value that is no limit.
    """
    found: dict[Status, int | None] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise BadInput(f"Invalid format {part.strip()!r}. Expected STATUS=N")
        status = read_status(name)
        if status in found:
            raise BadInput(f"{status} is given twice in {text!r}.")
        found[status] = read_limit_value(value, status)
    return found
