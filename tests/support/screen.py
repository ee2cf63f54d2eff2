"""What is on the screen as plain text, and waiting for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot

PATIENCE = 20.0
"""Seconds after which something is taken never to come true, on a busy machine too."""


def screen_text(app: App[Any]) -> str:
    """Every line of the topmost screen, dialogs over what lies beneath."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in lines)


async def until(
    pilot: Pilot[Any], condition: Callable[[], object], seconds: float = PATIENCE
) -> None:
    """Waits until something holds; a pilot's own pause waits for a quiet process instead."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("not reached; the screen was:\n" + screen_text(pilot.app))
        await asyncio.sleep(0.005)


async def until_shown(pilot: Pilot[Any], words: str, seconds: float = PATIENCE) -> None:
    await until(pilot, lambda: words in screen_text(pilot.app), seconds)


async def until_read(pilot: Pilot[Any]) -> None:
    """Waits until an enter is meant for the dialog that has opened."""
    await until(pilot, lambda: not pilot.app.screen.just_opened)  # type: ignore[attr-defined]


async def until_gone(pilot: Pilot[Any], words: str, seconds: float = PATIENCE) -> None:
    await until(pilot, lambda: words not in screen_text(pilot.app), seconds)
