"""What is wrong with a file, and where."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from batchdeck.core.errors import BadInput
from batchdeck.core.text import one_line

UNSUPPORTED_LIMIT = "agent_parallelism_limit_unsupported"


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong. Lines and columns count from 1."""

    path: str
    line: int
    column: int
    message: str
    code: str | None = None
    """A stable name for programs, where the fault has one of its own."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


class BatchFileFaults(BadInput):
    """A file is faulty, and nothing was changed; every fault that was found is here, in order."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(sorted(set(faults), key=_place))
        named = next((fault.code for fault in self.faults if fault.code), None)
        super().__init__("\n".join(map(str, self.faults)), code=named)


def _place(fault: Fault) -> tuple[str, int, int, str]:
    return fault.path, fault.line, fault.column, fault.message


def nearest(name: object, known: Iterable[str]) -> str:
    """` (did you mean …?)` where something known is close to `name`, else ` (there are: …)`."""
    names = sorted(set(map(str, known)))
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (there are: {_listed(names)})" if names else ""


def _listed(names: Sequence[str], limit: int = 20) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def shown(value: object) -> str:
    """A value as the file has it, short and inert."""
    return one_line(value if isinstance(value, str) else str(value), 60)


def value_words(value: Any) -> str:
    """A value as its file has it, or what kind of thing it is."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "keys with values"
    return repr(shown(value)) if isinstance(value, str) else shown(value)
