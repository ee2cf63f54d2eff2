"""How far a headless run is: a bar below its lines on a terminal, the lines alone in a log."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Protocol

import click
from rich.cells import cell_len

from batchdeck.core.model.task import COMPLETED, SETTLED, Status
from batchdeck.core.view import DeckView
from batchdeck.tui.cli.outlet import Outlet
from batchdeck.tui.present.fitting import shortened
from batchdeck.tui.present.progress_bar import progress_bar

_BAR = 24
_USUAL_COLUMNS = 80


class Progress(Protocol):
    """Prints what happens, and how far it is."""

    def print(self, lines: Sequence[str]) -> None: ...

    def show(self, view: DeckView, batches: Collection[str]) -> None: ...

    def settle(self) -> None:
        """What was printed stands before what others print from now on."""
        ...

    def __enter__(self) -> Progress: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def progress_for(as_json: bool, environment: Mapping[str, str]) -> Progress:
    """A bar where somebody watches a terminal that can draw one."""
    if as_json or not sys.stdout.isatty() or environment.get("TERM") in (None, "dumb"):
        return _Log()
    return _Bar(reflows(environment))


class _Log:
    def __init__(self) -> None:
        self._out = Outlet()

    def print(self, lines: Sequence[str]) -> None:
        if lines:
            self._out.write("\n".join(lines) + "\n")

    def show(self, view: DeckView, batches: Collection[str]) -> None:
        """The lines say it."""

    def settle(self) -> None:
        self._out.settle()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._out)


class _Bar:
    def __init__(self, reflows: bool) -> None:
        self._out = Outlet()
        self._line = StandingLine(reflows)
        self._words = ""

    def print(self, lines: Sequence[str]) -> None:
        self._draw(lines)

    def show(self, view: DeckView, batches: Collection[str]) -> None:
        words = progress_words(view, batches, _columns() - 1)
        if words != self._words:
            self._words = words
            self._draw(())

    def settle(self) -> None:
        self._out.settle()

    def _draw(self, lines: Sequence[str]) -> None:
        shown = self._line.drawn(lines, self._words, _columns())
        if shown:
            self._out.write(shown)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._words = ""
        self._draw(())
        _end(self._out)


class StandingLine:
    """A line that stays below whatever is printed, also where the terminal becomes narrower.

    Args:
        reflows: The terminal breaks lines anew when its width changes, so that one that was drawn
            on a wide screen stands in several rows of a narrow one.
    """

    def __init__(self, reflows: bool) -> None:
        self._reflows = reflows
        self._cells = 0

    def drawn(self, lines: Sequence[str], words: str, columns: int) -> str:
        """What to write so that `lines` stand above, and the words in one row below them."""
        words = shortened(words, max(1, columns - 1))
        erased, self._cells = self._erased(columns), cell_len(words)
        return erased + "".join(f"{line}\n" for line in lines) + words

    def _erased(self, columns: int) -> str:
        if not self._cells:
            return ""
        rows = -(-self._cells // max(1, columns)) if self._reflows else 1
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}\x1b[J"


def _columns() -> int:
    """Of the terminal as it is now; a variable would say how it was."""
    try:
        return os.get_terminal_size(1).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS


def reflows(environment: Mapping[str, str]) -> bool:
    """Whether the terminal breaks lines anew: all but xterm, the console and GNU screen do."""
    if "TMUX" in environment:
        return True
    cuts = "XTERM_VERSION" in environment or "STY" in environment
    return not cuts and environment.get("TERM") != "linux"


def progress_words(view: DeckView, batches: Collection[str], room: int) -> str:
    """`━━━━━━╸───── 3/4 1 running · 0 queued · 3 done`; the bar only where there is room for it."""
    counts = [view.task_counts.get(name, {}) for name in batches]
    settled = sum(count.get(status, 0) for count in counts for status in SETTLED)
    done = sum(count.get(status, 0) for count in counts for status in COMPLETED)
    failed = sum(count.get(Status.FAILED, 0) for count in counts)
    words = [f"{view.running} running", f"{view.queued} queued", f"{done} done"]
    words += [f"{failed} failed"] if failed else []
    words += [f"{view.waiting} wait{'s' * (view.waiting == 1)} for you"] if view.waiting else []
    total = sum(sum(count.values()) for count in counts)
    told = " · ".join(words)
    if not total:
        return told
    told = f"{settled}/{total} {told}"
    drawn = f"{progress_bar(settled, total, _BAR)} {told}"
    return drawn if cell_len(drawn) <= room else told


def _end(out: Outlet) -> None:
    """The run is over; that its lines reached nobody is said, and changes nothing."""
    out.close()
    if out.error is not None and out.error.errno != errno.EPIPE:
        click.echo(f"Standard output could not be written: {out.error.strerror}.", err=True)
