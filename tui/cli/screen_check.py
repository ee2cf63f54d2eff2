"""A configuration's `ui` block, held against what the screen has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from batchdeck.core.batchfile.faults import nearest, shown
from batchdeck.core.batchfile.settings import user_config
from batchdeck.tui.keys import checked_keymap
from batchdeck.tui.notices import Notice
from batchdeck.tui.theming import theme_names

_NOTIFICATIONS = ("bell", *Notice)


def user_themes() -> Path:
    """The folder with the operator's own themes, beside the operator's own configuration."""
    return user_config().parent / "themes"


def faults_of(ui: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """What in it cannot be used: the way to each value, and words."""
    theme, told = ui.get("theme"), ui.get("notifications")
    if theme is not None and theme not in (names := theme_names(user_themes())):
        yield ("theme",), f"there is no theme {shown(theme)!r}{nearest(theme, names)}"
    for action, words in checked_keymap(ui.get("keymap") or {})[1].items():
        yield ("keymap", action), words
    if isinstance(told, str) and told not in _NOTIFICATIONS:
        words = f"{shown(told)!r} is not known{nearest(told, _NOTIFICATIONS)}"
        yield ("notifications",), f"{words}; true and false are"
