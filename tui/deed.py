"""A deed: what an action does, given the screen and where the operator is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from batchdeck.tui.action import Standpoint

if TYPE_CHECKING:
    from batchdeck.tui.screens.acting import ActingScreen

Deed = Callable[["ActingScreen", Standpoint], None]
