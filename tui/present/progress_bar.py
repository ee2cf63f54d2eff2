"""How far something is, as a bar of half cells."""

from __future__ import annotations

BAR = 12


def progress_bar(done: int, total: int, width: int = BAR) -> str:
    """`━━━━╸───────`: as much of `width` cells as is done of `total`, which is not 0."""
    full, half = divmod(2 * width * done // total, 2)
    return "━" * full + "╸" * half + "─" * (width - full - half)
