"""One batch of all READY tasks that are in no active batch."""

from __future__ import annotations

from collections.abc import Sequence

from batchdeck.core.commands import GatherReady, Receipt
from batchdeck.core.deck.tasks import begin_task, queued_turns
from batchdeck.core.deck.work import Work
from batchdeck.core.model.batch import INBOX, Batch, BatchState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.task import Status, Task
from batchdeck.core.store import changes as sql
from batchdeck.core.text import counted


def gather_ready(work: Work, command: GatherReady) -> Receipt:
    """Moves the tasks into a new batch and queues them; of tasks with one id, the first goes."""
    tasks, left_out = _one_of_each_id(_ready(work))
    if not tasks:
        return Receipt(accepted=True, message="no READY task is outside of an active batch")
    batch = _new_batch(work)
    work.put_batch(batch)
    work.emit("batch.started", batch=batch.name, by=command.by, tasks=len(tasks))
    for position, task in enumerate(tasks):
        _move(work, task, batch.name, position)
    words = f"{batch.name}: {counted(len(tasks), 'task')}"
    if left_out:
        names = ", ".join(task.name for task in left_out[:5])
        words += f"; {len(left_out)} left out, their ids being taken: {names}"
    return Receipt(accepted=True, batch=batch.name, message=words)


def _ready(work: Work) -> list[Task]:
    batches = work.state.batches
    return [
        task
        for task in work.state.tasks.values()
        if task.status is Status.READY
        and task.index is None
        and (task.batch == INBOX or batches[task.batch].state is not BatchState.RUNNING)
    ]


def _one_of_each_id(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    first: dict[str, Task] = {}
    for task in tasks:
        first.setdefault(task.key, task)
    taken = list(first.values())
    return taken, [task for task in tasks if first[task.key] is not task]


def _new_batch(work: Work) -> Batch:
    number = 1
    while f"ready-{number}" in work.state.batches:
        number += 1
    row_id = work.state.next.batch
    work.state.next.batch += 1
    return Batch(id=row_id, name=f"ready-{number}", created_ms=work.now_ms)


def _move(work: Work, task: Task, batch: str, position: int) -> None:
    for turn in queued_turns(work, task):
        work.put_turn(evolve(turn, batch=batch))
    moved = evolve(task, batch=batch, position=position)
    work.put_task(moved)
    work.changes.add(sql.MOVE_TASK, (batch, position, task.id))
    turns = queued_turns(work, moved)
    for turn in turns:
        work.refresh(turn.id)
    if not turns:
        begin_task(work, moved)
