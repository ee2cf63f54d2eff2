"""A line of output in pieces that fit, colours carried over from piece to piece."""

from __future__ import annotations

import re

from rich.cells import cell_len, get_character_cell_size

_ESCAPE = re.compile(r"(\x1b\[[0-9;:]*m)")


def wrapped(line: str, width: int) -> list[str]:
    """The pieces of a line, each at most `width` cells; a line that fits is itself."""
    if width <= 0 or (len(line) <= width and (line.isascii() or cell_len(line) <= width)):
        return [line]
    if "\x1b" not in line and line.isascii():
        return [line[at : at + width] for at in range(0, len(line), width)]
    return _cut(line, width)


def _cut(line: str, width: int) -> list[str]:
    pieces: list[str] = []
    colours, piece, used = "", "", 0
    for part in _ESCAPE.split(line):
        if part.startswith("\x1b"):
            colours += part
            piece += part
            continue
        for character in part:
            cells = get_character_cell_size(character)
            if used + cells > width:
                pieces.append(piece)
                piece, used = colours, 0
            piece += character
            used += cells
    return [*pieces, piece] if used or not pieces else pieces
