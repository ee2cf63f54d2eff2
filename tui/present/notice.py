"""What stands below the headline: a fault, what was found at the start, what a screen is about."""

from __future__ import annotations

import re

from batchdeck.core.model.hold import DECK, OURSELVES
from batchdeck.core.view import DeckView
from batchdeck.tui.present.fitting import in_lines, short_path
from batchdeck.tui.present.scene import Scene

_PATH = re.compile(r"(?<![\w./~-])/(?:[^\s/:;,'\"]+/)+[^\s/:;,'\"]+")
"""An absolute path within a sentence."""
_MOST_LINES = ((30, 3), (12, 2), (0, 1))
"""From which height of the screen on a notice may have so many lines."""

_WHERE_ALL_IS = " (!)"
"""The key behind words that were cut: what needs the operator has them whole."""


def notice_lines(scene: Scene, width: int, height: int) -> tuple[str, ...]:
    """The lines of the notice on a screen of that size; none where there is nothing to say."""
    words = notice_words(scene)
    if not words or width < 2:
        return ()
    most = next(lines for least, lines in _MOST_LINES if height >= least)
    is_elsewhere = scene.view.fault or scene.view.banner
    lines = in_lines(words, width - 1, most, _WHERE_ALL_IS if is_elsewhere else "")
    return tuple(f" {line}" for line in lines)


def notice_words(scene: Scene) -> str:
    """All that it has to say."""
    view = scene.view
    if view.fault:
        return f"fault: {with_short_paths(view.fault, view.deck)}"
    parts = (held_words(view), stopped_words(view), with_short_paths(view.banner or "", view.deck))
    return " · ".join(part for part in parts if part) or scene.remark


def held_words(view: DeckView) -> str:
    """How a deck that came up held goes on; a person who held it knows."""
    hold = view.holds.get(DECK)
    if hold is None or hold.by != OURSELVES:
        return ""
    why = "" if view.banner else f": {hold.reason}"
    return f"held until you release it (p, or ! then h){why}"


def stopped_words(view: DeckView) -> str:
    """That a person keeps anything new from starting, and the key that ends it."""
    hold = view.holds.get(DECK)
    parts = []
    if hold is not None and hold.by != OURSELVES:
        why = f" ({hold.reason})" if hold.reason else ""
        parts.append(f"the deck is held by {hold.by}{why}, nothing new starts: p releases it")
    if view.draining:
        parts.append("the deck drains, nothing new starts: d admits again")
    return " · ".join(parts)


def with_short_paths(words: str, deck: str) -> str:
    """A sentence whose paths leave room for its words."""
    return _PATH.sub(lambda found: short_path(found[0], deck), words)
