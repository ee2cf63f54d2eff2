"""The last line of defence: no control character leaves for the terminal, whoever painted it."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_RISKY = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


class ControlFilter(LineFilter):
    """Replaces what a terminal could act on in every strip of every widget."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if not _RISKY.search("".join(s.text for s in segments if s.control is None)):
            return segments
        return [
            segment
            if segment.control is not None
            else Segment(_RISKY.sub(_harmless, segment.text), segment.style)
            for segment in segments
        ]


def _harmless(match: re.Match[str]) -> str:
    # the length of the strip in cells must stay what it was
    return "" if cell_len(match[0]) == 0 else "\ufffd"
