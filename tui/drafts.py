"""What the operator has written and not sent, kept by what it is for, past the end of the screen.

The file is a JSON object in the deck's folder: `{"coder": "…", "edit:#4": "…", "answer:8": "…"}`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from batchdeck.core.private import replace_private

MOST = 200
"""Drafts that are kept; the oldest go first, for what they were for may be long gone."""


def of_edit(turn_id: int) -> str:
    """What the changed text of a queued turn is kept as."""
    return f"edit:#{turn_id}"


class Drafts:
    """Texts by what they are for: an addressee (`coder`, `c12`), `edit:#4`, `answer:8`.

    Several dashboards of one deck share the file: each changes in it what was changed there.

    Args:
        path: The file; None: they last as long as this process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._texts: dict[str, str] = {}
        self._changed: set[str] = set()
        self._has_told = False
        self._trouble = ""
        try:
            self._texts = self._stored()
        except OSError as error:
            self._tell(f"cannot be read ({error.strerror or error})")

    def of(self, what: str) -> str:
        """The text that is kept for something; nothing: an empty one."""
        return self._texts.get(what, "")

    @property
    def kept(self) -> dict[str, str]:
        """All of them, the latest last."""
        return dict(self._texts)

    def note(self, what: str, text: str) -> None:
        """Remembers what is being typed; a text without a word is none. `save` writes it down."""
        text = text if text.strip() else ""
        if text == self.of(what):
            return
        self._texts.pop(what, None)
        if text:
            self._texts[what] = text
        self._changed.add(what)

    def move(self, what: str, to: str) -> None:
        """Gives a text another purpose, where that has none of its own."""
        if not self.of(to):
            self.note(to, self.of(what))
            self.note(what, "")

    def save(self) -> None:
        """Writes down what has changed; what cannot be written is told, and tried again later."""
        if self._path is None or not self._changed:
            return
        try:
            texts = {k: v for k, v in self._stored().items() if k not in self._changed}
            texts |= {k: v for k, v in self._texts.items() if k in self._changed}
            texts = dict(list(texts.items())[-MOST:])
            replace_private(self._path, json.dumps(texts, indent=1).encode())
        except OSError as error:
            self._tell(f"cannot be written ({error.strerror or error})")
            return
        self._texts = texts
        self._changed.clear()

    def trouble(self) -> str:
        """What is wrong with the file, in words, once; nothing: an empty text."""
        words, self._trouble = self._trouble, ""
        return words

    def _stored(self) -> dict[str, str]:
        """What the file has; one that makes no sense is put aside.

        Raises:
            OSError: it cannot be read, or not be put aside.
        """
        if self._path is None:
            return {}
        try:
            found = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return {k: v for k, v in found.items() if isinstance(v, str)}
        aside = self._path.with_name(self._path.name + ".unreadable")
        os.replace(self._path, aside)
        self._tell(f"makes no sense, and is {aside.name} now", lost=False)
        return {}

    def _tell(self, words: str, *, lost: bool = True) -> None:
        if self._has_told or self._path is None:
            return
        self._has_told = lost
        until = "; drafts last only until you leave" if lost else ""
        short = Path(self._path.parent.name, self._path.name)
        self._trouble = f"drafts: {short} {words}{until}"
