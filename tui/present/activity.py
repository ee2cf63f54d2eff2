"""The activity of the last minute as a bar of eight levels, anchored at zero."""

from __future__ import annotations

from collections.abc import Sequence

_LEVELS = " ▁▂▃▄▅▆▇█"
_SPAN_MS = 60_000


def activity_bar(ends_ms: Sequence[int], now_ms: int, width: int, most: int) -> str:
    """One character per slice of the last minute, oldest first.

    Args:
        most: How many ends in one slice fill a character; the same for all bars of a table, so
            that they can be compared.
    """
    counts = slice_counts(ends_ms, now_ms, width)
    if not any(counts):
        return ""
    top = max(most, 1)
    return "".join(_LEVELS[min(8, -(-8 * count // top))] for count in counts)


def slice_counts(ends_ms: Sequence[int], now_ms: int, width: int) -> list[int]:
    """How many ends fell into each slice of the last minute."""
    counts = [0] * width
    # Slices start at fixed moments: an end stays in its slice, and the bar moves one whole
    # character at a time.
    size = _SPAN_MS // width
    latest = now_ms // size
    for end in ends_ms:
        back = latest - end // size
        if 0 <= back < width:
            counts[width - 1 - back] += 1
    return counts
