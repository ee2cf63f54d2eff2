"""Durations in words: exact where somebody watches them, rough where they only say how long."""

from __future__ import annotations

_SECOND = 1_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def stopwatch(milliseconds: int) -> str:
    """`04:12`, `1:02:10`, `2d 03h`: for what runs."""
    seconds = max(0, milliseconds) // _SECOND
    if seconds >= 86_400:
        return f"{seconds // 86_400}d {seconds % 86_400 // 3_600:02}h"
    if seconds >= 3_600:
        return f"{seconds // 3_600}:{seconds % 3_600 // 60:02}:{seconds % 60:02}"
    return f"{seconds // 60:02}:{seconds % 60:02}"


def rough(milliseconds: int) -> str:
    """`40 s`, `9 min`, `3 h`, `2 d`: one number and its unit."""
    span = max(0, milliseconds)
    if span < _MINUTE:
        return f"{span // _SECOND} s"
    if span < 100 * _MINUTE:
        return f"{span // _MINUTE} min"
    if span < 48 * _HOUR:
        return f"{span // _HOUR} h"
    return f"{span // _DAY} d"


def waited(milliseconds: int) -> str:
    """As `rough`, but below a minute it does not count: what only waits must not flicker."""
    return "<1 min" if milliseconds < _MINUTE else rough(milliseconds)


def ago(milliseconds: int) -> str:
    return f"{rough(max(_SECOND, milliseconds))} ago"
