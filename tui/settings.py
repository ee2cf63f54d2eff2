"""What the operator's configuration says about the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ScreenSettings:
    theme: str = "deck-dark"
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Keys by an action's id, as in `{stop: "ctrl+x"}`."""
    user_themes: Path | None = None
    """A folder with themes of the operator's own."""
    animations: bool = False
    bell: bool = True
    """The terminal's bell when a turn asks something."""
    read_only: bool = False
    """The screen shows and changes nothing."""
    attached: bool = False
    """Another process dispatches: leaving asks nothing, for nothing ends by it."""
