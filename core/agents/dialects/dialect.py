"""What every kind of output can tell about an attempt."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any, Protocol

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.foreign_json import MOST, word
from batchdeck.core.model.turn import TurnState
from batchdeck.core.text import clean_line, clean_text, decode, one_line

TEXT_LIMIT = 256 * 1024
"""Bytes of an agent's final text that are kept, from its end."""
LONGEST_SESSION = 500


class Dialect(Protocol):
    """Reads an agent's output line by line."""

    final: bool
    """Whether the program has said its last word, whatever its process does after that."""

    def take(self, line: bytes) -> None:
        """The next line, without its newline. Never raises, whatever is in it."""
        ...

    def outcome(self, code: int) -> Outcome:
        """What became of it, now that the agent has ended with `code` (negative: a signal)."""
        ...


class LastWords:
    """The end of an agent's output, bounded."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size > 2 * TEXT_LIMIT:
            kept = self._joined()[-TEXT_LIMIT:]
            self._lines, self._size = [kept], len(kept) + 1

    def text(self) -> str:
        return clean_text(decode(self._joined()[-TEXT_LIMIT:]))

    def last(self) -> str:
        """The last line that is not blank, as one clean line."""
        for line in reversed(self._lines):
            if words := one_line(decode(line[-TEXT_LIMIT:]).rpartition("\n")[2]):
                return words
        return ""

    def _joined(self) -> bytes:
        return b"\n".join(self._lines)


def bounded(text: str) -> str:
    """A final text that a program gave as a whole, clean and no longer than is kept."""
    return clean_text(text[-TEXT_LIMIT:])


def failed(code: int, text: str, words: str = "") -> Outcome:
    """A failure; `words` are the program's own for it, if it had any."""
    error = ": ".join(part for part in (ending(code) if code else "", one_line(words)) if part)
    error = error or "it failed and did not say why"
    return Outcome(TurnState.FAILED, exit_code=code, text=text, error=error)


def incomplete(text: str, words: str, code: int = 0) -> Outcome:
    """An end where nothing proves a success, nor a failure."""
    return Outcome(TurnState.INCOMPLETE, exit_code=code, text=text, error=one_line(words))


def succeeded(text: str) -> Outcome:
    """A success, proven by exit code 0 and whatever else the kind of output asks for."""
    return Outcome(TurnState.SUCCEEDED, exit_code=0, text=text)


def ending(code: int) -> str:
    """An exit code in words: `exit code 3`, `ended by signal 9 (KILL)`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name.removeprefix("SIG")
    except ValueError:
        return f"ended by signal {-code}"
    return f"ended by signal {-code} ({name})"


def session_id(event: Mapping[str, Any], name: str) -> str | None:
    """A conversation's id in an object, fit to be an argument; None where there is none."""
    found = word(event, name)
    return found if found and found == clean_line(found, LONGEST_SESSION) else None


def total(so_far: int | None, more: int | None) -> int | None:
    """A sum in which what nobody knows counts nothing, and is not zero by itself."""
    return so_far if more is None else min((so_far or 0) + more, MOST)
