"""The next free ids, so that rows can be named before they are written."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

_ATTEMPT_ID_BYTES = 16
_DRAWN_AT_ONCE = 256


@dataclass(slots=True)
class NextIds:
    """The next free id of each kind; ids come from here, so that rows can be named before they
    are written."""

    turn: int = 1
    task: int = 1
    conversation: int = 1
    message: int = 1
    batch: int = 1
    folder: int = 1
    ask: int = 1
    blocker: int = 1
    event: int = 1
    _drawn: list[str] = field(default_factory=list, repr=False, compare=False)

    def attempt(self) -> str:
        """An attempt's id, which nobody can guess.

        They are drawn by the hundred: a draw lets go of the interpreter's lock, and a round of
        claims would have to wait for it as often as another thread takes it.
        """
        if not self._drawn:
            text = secrets.token_hex(_ATTEMPT_ID_BYTES * _DRAWN_AT_ONCE)
            digits = 2 * _ATTEMPT_ID_BYTES
            self._drawn = [text[at : at + digits] for at in range(0, len(text), digits)]
        return self._drawn.pop()
