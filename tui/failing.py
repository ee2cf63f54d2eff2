"""An app that fails in one line: no traceback, whose locals may hold secrets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.text import Text
from textual.app import App
from textual.worker import WorkerFailed

from batchdeck.tui.leaving import Leave

ReportCrash = Callable[[BaseException], "Path | None"]
"""Writes a scrubbed report of a failure, and says where."""


class FailingApp(App[Leave]):
    """Ends with a code that is not 0, and names the report that its opener wrote."""

    report_crash: ReportCrash | None = None

    def _fatal_error(self) -> None:
        failure: BaseException | None = self._exception
        if isinstance(failure, WorkerFailed):
            failure = failure.error
        where = None
        if failure is not None and self.report_crash is not None:
            where = self.report_crash(failure)
        words = f"batchdeck: the screen failed ({type(failure).__name__})"
        self._exit_renderables = [Text(words + (f"; details are in {where}" if where else ""))]
        self._close_messages_no_wait()

    def panic(self, *renderables: object) -> None:
        self._fatal_error()
