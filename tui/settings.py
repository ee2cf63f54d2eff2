"""What the operator's configuration says about the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from batchdeck.core.model.agent import Agent
from batchdeck.tui.notices import Notice, notice_for

Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""What an agent's values, named as in a batch file, become."""
ReadAgent = Callable[[str, "Agent | None", Change], Agent]


@dataclass(frozen=True, slots=True)
class ScreenSettings:
    theme: str = "deck-dark"
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Keys by an action's id, as in `{stop: "ctrl+x"}`."""
    user_themes: Path | None = None
    """A folder with themes of the operator's own."""
    animations: bool = False
    mouse: bool = True
    """False: the terminal's own selection works, and clicks do nothing here."""
    bell: bool = True
    """The terminal's bell when a turn asks something, and when a batch has ended."""
    notice: Notice | None = None
    """Beside the bell, a desktop notice by this sequence."""
    in_tmux: bool = False
    read_only: bool = False
    """The screen shows and changes nothing."""
    attached: bool = False
    """Another process dispatches: leaving asks nothing, for nothing ends by it."""
    read_agent: ReadAgent | None = None
    """Makes an agent's definition of its name, of what it was, and of what changes in that."""


def read_screen_settings(
    ui: Mapping[str, Any], environment: Mapping[str, str], user_themes: Path | None = None
) -> ScreenSettings:
    """The settings from the configuration's `ui` block.

    `notifications` is `true` (bell, and a desktop notice by the sequence that the terminal most
    likely knows), `false` (neither), `bell`, or a sequence: `osc9`, `osc99`, `osc777`.
    """
    wanted = ui.get("notifications", "bell")
    return ScreenSettings(
        theme=str(ui.get("theme") or "deck-dark"),
        keymap={str(k): str(v) for k, v in (ui.get("keymap") or {}).items()},
        user_themes=user_themes,
        animations=bool(ui.get("animations", False)),
        mouse=ui.get("mouse") is not False,
        bell=wanted is not False,
        notice=_notice(wanted, environment),
        in_tmux=bool(environment.get("TMUX")),
    )


def _notice(wanted: object, environment: Mapping[str, str]) -> Notice | None:
    if wanted is True:
        return notice_for(environment)
    return next((notice for notice in Notice if notice == wanted), None)
