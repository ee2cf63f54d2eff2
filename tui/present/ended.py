"""How the tasks of a batch have ended: done, failed, and those that a person cancelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from batchdeck.core.difference import changed_tasks
from batchdeck.core.model.task import COMPLETED, Because, Status, Task
from batchdeck.core.view import DeckView


class Ended(NamedTuple):
    """Numbers of tasks; `total` counts those that have not ended, too."""

    done: int
    failed: int
    cancelled: int
    total: int

    @property
    def words(self) -> str:
        """`58 done · 2 failed`: what there is none of but done is left out."""
        parts = [f"{self.done} done"]
        parts += [f"{self.failed} failed"] * bool(self.failed)
        parts += [f"{self.cancelled} cancelled"] * bool(self.cancelled)
        return " · ".join(parts)


def is_cancelled(task: Task) -> bool:
    """Whether a person ended it, so that it counts as FAILED without having failed."""
    return task.status is Status.FAILED and task.because is Because.CANCELLED


class EndedTasks:
    """Counts from view to view: to look through all tasks takes a while."""

    def __init__(self) -> None:
        self._view = DeckView()
        self._cancelled: dict[int, str] = {}
        self._by_batch: Counter[str] = Counter()

    def of(self, view: DeckView, batches: Iterable[str]) -> Ended:
        """How the tasks of some batches stand, together."""
        self._follow(view)
        names = list(batches)
        counts: Counter[Status] = Counter()
        for name in names:
            counts.update(view.task_counts.get(name, {}))
        cancelled = sum(self._by_batch[name] for name in names)
        return Ended(
            done=sum(counts[status] for status in COMPLETED),
            failed=max(0, counts[Status.FAILED] - cancelled),
            cancelled=cancelled,
            total=sum(counts.values()),
        )

    def cancelled(self, view: DeckView) -> frozenset[str]:
        """The names (`BATCH/TASK`) of the tasks that a person cancelled."""
        self._follow(view)
        return frozenset(view.tasks[task].name for task in self._cancelled)

    def _follow(self, view: DeckView) -> None:
        if view is self._view:
            return
        before = self._view if self._view.deck == view.deck else DeckView()
        if not before.tasks:
            self._cancelled.clear()
            self._by_batch.clear()
        for task_id in changed_tasks(before, view):
            known = self._cancelled.pop(task_id, None)
            if known is not None:
                self._by_batch[known] -= 1
            task = view.tasks.get(task_id)
            if task is not None and is_cancelled(task):
                self._cancelled[task_id] = task.batch
                self._by_batch[task.batch] += 1
        self._view = view
