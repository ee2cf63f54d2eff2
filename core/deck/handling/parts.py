"""A batch in parts: as many tasks at a time as one short transaction can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from batchdeck.core.deck.handling.adding import Places, add_row, begin_new, reserve_ids
from batchdeck.core.deck.work import Work
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.spec import BatchSpec, TaskSpec

MOST_AT_ONCE = 500
"""New tasks of one transaction, but for those that need each other."""


@dataclass(slots=True)
class Coming:
    """A batch that is being added, and how much of it is on disk."""

    spec: BatchSpec
    """With its barrier."""
    by: str
    batch: Batch
    """As it will be once all of it is there."""
    new: Sequence[TaskSpec]
    changed: Sequence[TaskSpec]
    places: Places
    done: int = 0
    parts: list[int] = field(default_factory=list)
    """Where each part ends, among the new tasks."""

    def __post_init__(self) -> None:
        self.parts = list(_ends(self.new))

    @property
    def is_large(self) -> bool:
        """Whether it takes more than one transaction."""
        return len(self.parts) > 1

    @property
    def is_last(self) -> bool:
        """Whether the next part is the last one."""
        return not self.parts or self._next == self.parts[-1]

    @property
    def _next(self) -> int:
        return next(end for end in self.parts if end > self.done)

    def add_part(self, work: Work) -> None:
        """Adds the next part; all its rows first: a task may need one further down in its file."""
        if not self.parts:
            return
        end = self._next
        tasks = self.new[self.done : end]
        offset = len(self.spec.tasks) - len(self.new) + self.done
        reserve_ids(work, self.spec.name, tasks)
        added = [
            add_row(work, self.spec.name, task, offset + index) for index, task in enumerate(tasks)
        ]
        for task, wanted in zip(added, tasks, strict=True):
            begin_new(work, task, wanted, self.places, self.spec)
        work.after.append(lambda: self._note_done(end))

    def _note_done(self, end: int) -> None:
        self.done = end


def _ends(tasks: Sequence[TaskSpec]) -> list[int]:
    """Where parts may end: behind what any of their tasks needs."""
    place = {task.key: index for index, task in enumerate(tasks)}
    ends: list[int] = []
    begin = furthest = 0
    for index, task in enumerate(tasks):
        furthest = max([furthest, *(place.get(key, 0) for key in task.depends_on)])
        if index + 1 - begin >= MOST_AT_ONCE and furthest <= index:
            ends.append(index + 1)
            begin = index + 1
    if tasks and (not ends or ends[-1] < len(tasks)):
        ends.append(len(tasks))
    return ends
