"""Having an attempt's processes ended, until somebody has heard of it."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio

from batchdeck.core.agents.adapter import Control
from batchdeck.core.executors.executor import Executor

_log = logging.getLogger(__name__)

_AGAIN_SECONDS = 0.5


async def stop_when_asked(executor: Executor, run: Path, control: Control) -> None:
    """Stops an attempt once a person, or the deck, wants it stopped."""
    await control.stop.wait()
    await stop(executor, run)


async def stop(executor: Executor, run: Path) -> None:
    """Asks for the end of an attempt, again and again where that fails: it must not be lost."""
    while True:
        try:
            await executor.stop(run)
        except Exception:  # noqa: BLE001 - whatever it is, the agent works on
            _log.exception("%s could not be asked to stop", run.name)
            await anyio.sleep(_AGAIN_SECONDS)
        else:
            return
