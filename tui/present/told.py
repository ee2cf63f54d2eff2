"""Lines of what agents told, for a log: a sign for each kind, and a colour beside it."""

from __future__ import annotations

from batchdeck.core.telling.said import Kind
from batchdeck.core.telling.transcript import Line

_SIGNS = {
    Kind.THOUGHT: "~ ",
    Kind.TOOL: "> ",
    Kind.TOOL_RESULT: "  ",
    Kind.PERMISSION: "? ",
    Kind.RETRY: "↻ ",
    Kind.USAGE: "Σ ",
    Kind.RESULT: "= ",
    Kind.ERROR: "✗ ",
}
_COLOURS = {
    Kind.THOUGHT: "2;3",
    Kind.TOOL: "36",
    Kind.TOOL_RESULT: "2",
    Kind.PERMISSION: "33",
    Kind.RETRY: "33",
    Kind.USAGE: "2",
    Kind.RESULT: "32",
    Kind.ERROR: "31",
}
"""Parameters of SGR; the sign says the same without them."""


def plain_words(line: Line) -> str:
    """`> Bash  make test`: what goes on below has the sign's width in blanks."""
    sign = _SIGNS.get(line.kind, "")
    return f"{sign if line.begins else ' ' * len(sign)}{line.words}"


def coloured_words(line: Line) -> str:
    """The same with the kind's colour, as a terminal's own sequences."""
    colour = _COLOURS.get(line.kind)
    words = plain_words(line)
    return words if colour is None else f"\x1b[{colour}m{words}\x1b[0m"
