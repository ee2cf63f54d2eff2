"""Text cut and padded to a number of terminal cells."""

from __future__ import annotations

import os
import unicodedata

from rich.cells import cell_len, set_cell_size

from batchdeck.core.text import clean_line

_MARKS = frozenset({"Mn", "Me"})
_MARKS_KEPT = 2
"""Combining marks that one character may carry; more only smear over other lines."""


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` cells of `text`, with `…` where it was cut; foreign text becomes inert."""
    if width <= 0:
        return ""
    if not (text.isascii() and text.isprintable()):
        text = without_piles(clean_line(text, 8 * width + 64))
    length = len(text) if text.isascii() else cell_len(text)
    if length > width:
        text = _cut(text, width)
        length = cell_len(text)
    padding = " " * (width - length)
    return padding + text if right else text + padding


def shortened(text: str, width: int) -> str:
    """At most `width` cells of `text`, which is clean already, with `…` where it was cut."""
    return text if cell_len(text) <= width else _cut(text, width)


def _cut(text: str, width: int) -> str:
    """One that is longer; `…` follows at once also where a wide character did not fit whole."""
    kept = set_cell_size(text, width - 1)
    return (kept if text.startswith(kept) else kept[:-1]) + "…"


def in_lines(text: str, width: int, most: int, tail: str = "") -> list[str]:
    """Foreign text in at most `most` lines of `width` cells, broken between words; `…` and `tail`
    end one that does not fit into them."""
    words = inert(text, 4 * most * max(1, width)).split()
    lines: list[str] = [""]
    while words and width > 0:
        word = words.pop(0)
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(longer) <= width:
            lines[-1] = longer
        elif len(lines) == most:
            rest = f"{longer} {' '.join(words)}"
            lines[-1] = shortened(rest, max(1, width - cell_len(tail))) + tail
            break
        elif lines[-1]:
            lines.append("")
            words.insert(0, word)
        else:
            lines[-1], rest = _broken(word, width)
            words.insert(0, rest)
            lines.append("")
    return lines if lines[-1] or len(lines) == 1 else lines[:-1]


def _broken(word: str, width: int) -> tuple[str, str]:
    """A word that is longer than a line: what fits of it, and the rest."""
    kept = set_cell_size(word, width)
    kept = kept if word.startswith(kept) else kept[:-1]
    kept = kept or word[:1]  # a wide character where there is one cell
    return kept, word[len(kept) :]


def inert(text: str, most: int = 400) -> str:
    """Foreign text as one line of at most `most` characters, not padded."""
    return without_piles(clean_line(text, most))


def without_piles(text: str) -> str:
    """The text with at most two combining marks on each character."""
    if text.isascii():
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in _MARKS else 0
        if marks <= _MARKS_KEPT:
            kept.append(character)
    return "".join(kept)


def short_path(path: str, deck: str) -> str:
    """A folder as the operator names it: from the deck's own folder where it lies in that."""
    home = deck.removesuffix("/.batchdeck")
    if home and path.startswith(home + "/"):
        return path[len(home) + 1 :]
    path = at_home(path)
    parts = path.split("/")
    return path if len(parts) < 4 else "…/" + "/".join(parts[-2:])


def folder_words(path: str, base: str) -> str:
    """A folder for a line of its own: from `base` where it lies in that, home as `~`."""
    if path == base:
        return "."
    if base and path.startswith(base + "/"):
        return path[len(base) + 1 :]
    return at_home(path)


def at_home(path: str) -> str:
    """The path with the user's home as `~`."""
    home = os.path.expanduser("~").rstrip("/")
    return (
        "~" + path[len(home) :] if home and (path == home or path.startswith(f"{home}/")) else path
    )
