"""Foreign text made inert, once, at the door: nothing in it can move a terminal any more."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

LINE_LIMIT = 4_000
"""Characters of one line that are worth showing."""

LINE_CAP = 64 * 1024
"""Bytes of one line that are kept while it is read."""

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI … final byte
    # OSC, DCS, SOS, PM and APC run to BEL or ST, or to the end of the line that holds them
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"  # the short ones
)
"""Escape sequences of ECMA-48, with 7-bit and 8-bit introducers, finished or cut off."""

_INERT = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction of writing
    "\u2028\u2029\ufeff\ufff9-\ufffb"  # separators, byte order mark, annotations
    "\ud800-\udfff"  # halves of surrogate pairs
)
_UNWANTED = re.compile(f"[{_INERT}]")
_NOT_PLAIN = re.compile(f"[{_INERT}\t\n]")


def decode(data: bytes) -> str:
    """The text in foreign bytes; what is not UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def clean_line(text: str, limit: int = LINE_LIMIT) -> str:
    """One display line: no escapes, controls, changes of direction or lone surrogates.

    Of a line that was overwritten by carriage returns, what a terminal would show last is kept.
    Longer than `limit` characters, it is cut and ends in `…`. Cleaning twice changes nothing.
    """
    if _NOT_PLAIN.search(text):
        text = _without_escapes(_last_shown(text)).replace("\n", " ").expandtabs(8)
    return _cut(text, limit)


def clean_text(text: str) -> str:
    """The same for text of several lines, whose newlines and tabs stay.

    Cleaning twice changes nothing.
    """
    if not _UNWANTED.search(text):
        return text
    return "\n".join(_without_escapes(_last_shown(line)) for line in text.split("\n"))


def with_controls_shown(text: str) -> str:
    """The same text with whatever cleaning takes away written out, as `\\r` or `\\u202e`.

    It is for what a person decides by: nothing in it is hidden, and nothing in it acts.
    """
    return _UNWANTED.sub(lambda control: ascii(control[0])[1:-1], text)


def one_line(text: str, limit: int = 200) -> str:
    """Any text as one line of single blanks, for an error message of at most `limit` characters."""
    return _cut(" ".join(clean_text(text).split()), limit)


def _last_shown(line: str) -> str:
    return line.rstrip("\r\n").rpartition("\r")[2] if "\r" in line else line


def _without_escapes(text: str) -> str:
    return _UNWANTED.sub("", _SEQUENCE.sub("", text))


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: limit - 1] + "…" if limit > 0 else ""


class LineSplitter:
    """Splits a stream of bytes into whole lines, at the newline byte and nowhere else.

    A line longer than `cap` bytes is cut there; what follows up to its newline is dropped and
    counted in `dropped`. It holds at most `cap` bytes, whatever is fed.
    """

    def __init__(self, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._rest = bytearray()
        self.dropped = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Takes the next bytes of the stream and returns the lines they complete."""
        *ended, rest = chunk.split(b"\n")
        lines = []
        for piece in ended:
            self._hold(piece)
            lines.append(self._take())
        self._hold(rest)
        return lines

    def flush(self) -> list[bytes]:
        """The last line, where the stream ended without a newline."""
        return [self._take()] if self._rest else []

    def _hold(self, piece: bytes) -> None:
        room = self._cap - len(self._rest)
        self._rest += piece[:room]
        self.dropped += max(0, len(piece) - room)

    def _take(self) -> bytes:
        line = bytes(self._rest)
        self._rest.clear()
        return line


_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)


def counted(number: int, noun: str, several: str = "") -> str:
    """`1 batch`, `3 batches`; without `several`, an s makes the plural."""
    return f"{number} {noun if number == 1 else several or noun + 's'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean coder?`, or nothing where no known name is close."""
    by_folded = {one.casefold(): one for one in known}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return f"; did you mean {by_folded[close[0]]}?" if close else ""


def number_in(text: str) -> int | None:
    """The whole number that a text is, as people number things: ASCII digits, 15 at most."""
    return int(text) if _NUMBER.fullmatch(text) else None


def is_whole(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
