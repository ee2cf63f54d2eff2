"""The rows of the status table: slots by lane, what waits in it, and the tasks there now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from batchdeck.core.model.batch import Batch
from batchdeck.core.model.limit import status_limit
from batchdeck.core.model.task import Status
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.limit_change import LimitChange, limit_cell_of
from batchdeck.tui.present.scene import active_batches

LANES = (Status.READY, Status.IN_PROGRESS, Status.BLOCKED, Status.FAILED)
"""Statuses out of which a turn may be admitted, so that a limit on them can bind."""

RESTING = (Status.BACKLOG, Status.DONE, Status.MERGED)


class StatusRow(NamedTuple):
    """One lane; `batch` None: the sum over several batches, which has no limit of its own."""

    status: Status
    batch: str | None
    cells: Row


def status_rows(view: DeckView, change: LimitChange | None = None) -> dict[str, StatusRow]:
    """Rows by key (`READY`, `docs/READY`): one per lane, with one per batch below it where
    several are at work. `change`: the limit that is being changed."""
    batches = active_batches(view)
    rows: dict[str, StatusRow] = {}
    for status in LANES:
        if len(batches) == 1:
            rows[status] = _batch_row(view, status, batches[0], status, change)
            continue
        rows[status] = _sum_row(view, status, batches)
        for batch in batches:
            if _is_used(view, status, batch):
                row = _batch_row(view, status, batch, f"  {batch.name}", change)
                rows[f"{batch.name}/{status}"] = row
    return rows


def _batch_row(
    view: DeckView, status: Status, batch: Batch, label: str, change: LimitChange | None
) -> StatusRow:
    name = status_limit(batch.name, status)
    used, limit = view.running_by.get(name, 0), effective_limit(view, name)
    running = limit_cell_of(name, change, used, limit)
    cells = _cells(label, running, view.queued_by.get(name, 0), _now(view, status, [batch]))
    return StatusRow(status, batch.name, cells)


def _sum_row(view: DeckView, status: Status, batches: tuple[Batch, ...]) -> StatusRow:
    names = [status_limit(batch.name, status) for batch in batches]
    running = sum(view.running_by.get(name, 0) for name in names)
    queued = sum(view.queued_by.get(name, 0) for name in names)
    tone = Tone.RUNNING if running else Tone.MUTED
    cells = _cells(status, Cell(str(running), tone), queued, _now(view, status, batches))
    return StatusRow(status, None, cells)


def _cells(label: str, running: Cell, queued: int, now: int) -> Row:
    return (Cell(label), running, _count(queued), _count(now))


def _count(number: int) -> Cell:
    return Cell(str(number), Tone.PLAIN if number else Tone.MUTED)


def _now(view: DeckView, status: Status, batches: Iterable[Batch]) -> int:
    return sum(view.task_counts.get(batch.name, {}).get(status, 0) for batch in batches)


def _is_used(view: DeckView, status: Status, batch: Batch) -> bool:
    name = status_limit(batch.name, status)
    counts = (view.running_by.get(name), view.queued_by.get(name), _now(view, status, [batch]))
    return any(counts) or name in view.limits


def resting_words(view: DeckView) -> str:
    """`BACKLOG 106  DONE 401  MERGED 11`: the statuses that nothing is admitted from."""
    batches = active_batches(view)
    counts = ((status, _now(view, status, batches)) for status in RESTING)
    return "  ".join(f"{status} {count}" for status, count in counts if count)
