"""Desktop notices by way of the terminal, for those who have asked for them.

Sources: OSC 9 (iTerm2), OSC 99 (kitty's protocol), OSC 777 (urxvt's extension); tmux passes on
what is wrapped in its own escape, where `allow-passthrough` is on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from batchdeck.core.text import one_line

_MOST = 160
_END = "\x1b\\"


class Notice(StrEnum):
    """By which sequence a terminal is told."""

    OSC9 = "osc9"
    OSC99 = "osc99"
    OSC777 = "osc777"


def notice_for(environment: Mapping[str, str]) -> Notice:
    """The sequence that this terminal most likely knows."""
    program = environment.get("TERM_PROGRAM", "").lower()
    term = environment.get("TERM", "")
    if "KITTY_WINDOW_ID" in environment or "kitty" in term:
        return Notice.OSC99
    if program in ("iterm.app", "wezterm", "warpterminal"):
        return Notice.OSC9
    return Notice.OSC777


def sequence(notice: Notice, title: str, body: str, *, in_tmux: bool) -> str:
    """What is written to the terminal; foreign text cannot end it early."""
    heading, words = (_plain(text) for text in (title, body))
    match notice:
        case Notice.OSC9:
            told = f"\x1b]9;{heading}: {words}{_END}"
        case Notice.OSC99:
            told = (
                f"\x1b]99;i=batchdeck:d=0;{heading}{_END}\x1b]99;i=batchdeck:p=body;{words}{_END}"
            )
        case Notice.OSC777:
            told = f"\x1b]777;notify;{heading};{words}{_END}"
    if not in_tmux:
        return told
    return f"\x1bPtmux;{told.replace(chr(27), chr(27) * 2)}{_END}"


def _plain(text: str) -> str:
    # a semicolon would begin the next field of OSC 777
    return one_line(text, _MOST).replace(";", ",")
