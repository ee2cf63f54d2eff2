"""How far a headless run is: a bar below its lines on a terminal, the lines alone in a log."""

from __future__ import annotations

import errno
import sys
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import IO, Protocol, cast

import click

from batchdeck.core.model.task import COMPLETED, SETTLED, Status
from batchdeck.core.view import DeckView
from batchdeck.tui.cli.outlet import Outlet


class Progress(Protocol):
    """Prints what happens, and how far it is."""

    def print(self, lines: Sequence[str]) -> None: ...

    def show(self, view: DeckView, batches: Collection[str]) -> None: ...

    def __enter__(self) -> Progress: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def progress_for(as_json: bool, term: str | None) -> Progress:
    """A bar where somebody watches a terminal that can draw one."""
    if as_json or not sys.stdout.isatty() or term in (None, "dumb"):
        return _Log()
    return _Bar()


class _Log:
    def __init__(self) -> None:
        self._out = Outlet()

    def print(self, lines: Sequence[str]) -> None:
        if lines:
            self._out.write("\n".join(lines) + "\n")

    def show(self, view: DeckView, batches: Collection[str]) -> None:
        """The lines say it."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._out)


class _Bar:
    def __init__(self) -> None:
        self._out = Outlet()
        from rich.console import Console  # only where it is drawn: rich takes a while to load
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(file=cast(IO[str], self._out), highlight=False, markup=False),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def print(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._bar.console.print(line, soft_wrap=True)

    def show(self, view: DeckView, batches: Collection[str]) -> None:
        counts = [view.task_counts.get(name, {}) for name in batches]
        settled = sum(count.get(status, 0) for count in counts for status in SETTLED)
        done = sum(count.get(status, 0) for count in counts for status in COMPLETED)
        failed = sum(count.get(Status.FAILED, 0) for count in counts)
        words = [f"{view.running} running", f"{view.queued} queued", f"{done} done"]
        words += [f"{failed} failed"] if failed else []
        words += [f"{view.waiting} wait for you"] if view.waiting else []
        total = sum(sum(count.values()) for count in counts)
        self._bar.update(
            self._task, completed=settled, total=total or None, description=" · ".join(words)
        )

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        _end(self._out)


def _end(out: Outlet) -> None:
    """The run is over; that its lines reached nobody is said, and changes nothing."""
    out.close()
    if out.error is not None and out.error.errno != errno.EPIPE:
        click.echo(f"Standard output could not be written: {out.error.strerror}.", err=True)
