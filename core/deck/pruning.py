"""Removes folders of attempts that are over, and old events, off the hot path."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from batchdeck.core.clock import Clock
from batchdeck.core.deck.letters import Forget, Letter
from batchdeck.core.deck.reading import Reader
from batchdeck.core.executors.attempt_files import SCRATCH
from batchdeck.core.executors.executor import Alive
from batchdeck.core.executors.records import evidence

EVERY_SECONDS = 3600.0
FIRST_SECONDS = 5.0
"""After the start, so that nothing waits for it."""
_DAY_MS = 86_400_000


UNLESS_SAID: Mapping[str, float | None] = {"days": 90, "runs": None, "megabytes": 10_000}


@dataclass(frozen=True, slots=True)
class Retention:
    """How long, how many and how much of what is over is kept; None: without a bound."""

    days: float | None = None
    runs: int | None = None
    megabytes: float | None = None
    spares_work: bool = False
    """What agents left in scratch folders stays, and counts for nothing: nobody said how long."""

    @classmethod
    def of(cls, configured: Mapping[str, Any]) -> Retention:
        """What a configuration says, and for what it does not say the default."""
        return cls(**{**UNLESS_SAID, **configured}, spares_work=not configured)

    @property
    def words(self) -> str:
        """`kept for 90 days, and at most 10000 MB of them`"""
        days = "for good" if self.days is None else f"for {self.days:g} days"
        bounds = [
            *([] if self.runs is None else [f"{self.runs} attempts"]),
            *([] if self.megabytes is None else [f"{self.megabytes:g} MB"]),
        ]
        most = f", at most {' or '.join(bounds)}" if bounds else ""
        return f"kept {days}{most}"

    @property
    def keeps_all(self) -> bool:
        return self.days is None and self.runs is None and self.megabytes is None


async def prune_in_time(
    reader: Reader, retention: Retention, clock: Clock, post: Callable[[Letter], None]
) -> None:
    """Prunes a moment after the start, and once an hour."""
    if retention.keeps_all:
        return
    await anyio.sleep(FIRST_SECONDS)
    while True:
        over = await reader.attempts_that_are_over()
        now_ms = clock.now_ms()
        await anyio.to_thread.run_sync(prune, reader.paths.runs, over, retention, now_ms)
        if retention.days is not None:
            await forget_events(reader, now_ms - int(retention.days * _DAY_MS), post)
        await anyio.sleep(EVERY_SECONDS)


async def forget_events(reader: Reader, before_ms: int, post: Callable[[Letter], None]) -> None:
    """Has events of before a time deleted, a thousand transactions' worth at a time."""
    while (oldest_ms := await reader.oldest_event_ms()) is not None and oldest_ms < before_ms:
        letter = Forget(before_ms)
        post(letter)
        await letter.done.wait()


def prune(
    runs: Path, over: Sequence[tuple[str, int]], retention: Retention, now_ms: int
) -> list[str]:
    """Removes what is beyond the bounds; returns the attempts whose folder went.

    Args:
        over: Attempts whose turn has ended, and when they did, the latest first.
    """
    spares = retention.spares_work
    there = [
        (run, at_ms)
        for id, at_ms in over
        if (run := runs / id).is_dir() and not (spares and is_only_work(run))
    ]
    removed, kept_bytes = [], 0
    for place, (run, at_ms) in enumerate(there):
        if retention.megabytes is not None:
            kept_bytes += size_of(run, with_work=not spares)
        beyond = (
            (retention.runs is not None and place >= retention.runs)
            or (retention.days is not None and now_ms - at_ms > retention.days * _DAY_MS)
            or (retention.megabytes is not None and kept_bytes > retention.megabytes * 1e6)
        )
        if beyond and not isinstance(evidence(run), Alive):
            _remove(run, with_work=not (spares and holds_work(run)))
            removed.append(run.name)
    return removed


def _remove(run: Path, *, with_work: bool) -> None:
    """What cannot go now is tried again."""
    if with_work:
        shutil.rmtree(run, ignore_errors=True)
        return
    for entry in run.iterdir():
        if entry.name != SCRATCH:
            with contextlib.suppress(OSError):
                entry.unlink()


def holds_work(run: Path) -> bool:
    """Whether its agent left anything in a scratch folder."""
    try:
        return any((run / SCRATCH).iterdir())
    except OSError:
        return False


def is_only_work(run: Path) -> bool:
    """Whether nothing but that is left of an attempt's folder."""
    return os.listdir(run) == [SCRATCH] and holds_work(run)


def size_of(run: Path, *, with_work: bool = True) -> int:
    """Bytes in a folder in which somebody may be at work: what has just gone counts nothing."""
    total = 0
    for folder, folders, files in os.walk(run):
        if not with_work and folder == str(run):
            folders[:] = [name for name in folders if name != SCRATCH]
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total
