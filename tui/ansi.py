"""Colours of foreign output: SGR sequences become styles, every other escape is dropped.

Source: ECMA-48, 8.3.117, with the 256 and direct colours that xterm added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from batchdeck.core.text import clean_line
from batchdeck.tui.present.fitting import without_piles

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_MOST_PARAMETERS = 32

_ATTRIBUTES: dict[int, Style] = {
    1: Style(bold=True),
    2: Style(dim=True),
    3: Style(italic=True),
    4: Style(underline=True),
    7: Style(reverse=True),
    9: Style(strike=True),
    22: Style(bold=False, dim=False),
    23: Style(italic=False),
    24: Style(underline=False),
    27: Style(reverse=False),
    29: Style(strike=False),
    39: Style(color="default"),
    49: Style(bgcolor="default"),
}
_FOREGROUND, _BACKGROUND = 38, 48


def coloured_segments(line: str, plain: Style) -> list[Segment]:
    """The inert text of one line in pieces of one style each."""
    pieces: list[Segment] = []
    position, state = 0, Style.null()
    for match in _SGR.finditer(line):
        pieces += _piece(line[position : match.start()], plain + state)
        state = _changed(match.group(1), state)
        position = match.end()
    return pieces + _piece(line[position:], plain + state)


def plain_text(line: str) -> str:
    """The inert text of one line without its colours."""
    return without_piles(clean_line(line))


def _piece(text: str, style: Style) -> list[Segment]:
    shown = without_piles(clean_line(text))
    return [Segment(shown, style)] if shown else []


@lru_cache(1024)
def _changed(parameters: str, state: Style) -> Style:
    numbers = [
        int(n) if n.isdigit() else 0 for n in re.split("[;:]", parameters)[:_MOST_PARAMETERS]
    ]
    following = iter(numbers)
    for number in following:
        if number == 0:
            state = Style.null()
        elif number in _ATTRIBUTES:
            state = state + _ATTRIBUTES[number]
        elif number in (_FOREGROUND, _BACKGROUND):
            state = state + _coloured(_extended(following), number == _BACKGROUND)
        else:
            state = state + _basic(number)
    return state


def _basic(number: int) -> Style:
    tens, unit = divmod(number, 10)
    if unit > 7:
        return Style.null()
    if tens in (3, 4):
        return _coloured(Color.from_ansi(unit), tens == 4)
    if tens in (9, 10):
        return _coloured(Color.from_ansi(unit + 8), tens == 10)
    return Style.null()


def _extended(following: Iterator[int]) -> Color | None:
    kind = next(following, None)
    if kind == 5:
        number = next(following, 256)
        return Color.from_ansi(number) if number < 256 else None
    if kind == 2:
        red, green, blue = (min(255, next(following, 0)) for _ in range(3))
        return Color.from_rgb(red, green, blue)
    return None


def _coloured(colour: Color | None, background: bool) -> Style:
    return Style(bgcolor=colour) if background else Style(color=colour)
