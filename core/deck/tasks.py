"""A task's way to its end: what its turns decide, its retries, its dependants, its batch."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

from batchdeck.core.deck.barrier import has_passed, is_refused
from batchdeck.core.deck.conversing import repeat_step
from batchdeck.core.deck.restoring import settled
from batchdeck.core.deck.stepping import goes_on, next_step, place_of
from batchdeck.core.deck.turns import drop_queued, queue_again, queue_for
from batchdeck.core.deck.work import Work
from batchdeck.core.model.batch import Batch, BatchState, OnError
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.task import ADMISSIBLE, COMPLETED, SETTLED, Because, Status, Task
from batchdeck.core.model.turn import DECIDES_TASK, Trigger, Turn, TurnState

LONGEST_BACKOFF_SECONDS = 300

_HAS_FAILED = "the batch has failed"
_FAILURES = frozenset({TurnState.FAILED, TurnState.INCOMPLETE})


def decide_task(work: Work, turn: Turn, task: Task) -> None:
    """What the end of a turn that decides its task means for the task, and for its batch."""
    if _decided_by_its_issue(work, task):
        pass  # what was decided outside wins over what the worker says later
    elif goes_on(work, turn, task):
        next_step(work, turn, task)
    elif turn.state in (TurnState.SUCCEEDED, TurnState.SUPERSEDED):
        if task.status not in COMPLETED:
            task = work.set_status(task.id, Status.DONE, turn=turn.id)
        if turn.state is TurnState.SUPERSEDED:
            work.state.elsewhere[task.id] = None
            work.state.touch("elsewhere")
        if task.index is not None:
            work.state.foreaches[task.batch].forget(task.id)
        complete_task(work, task)
    elif _was_only_stopped(turn, task):
        _set_back(work, turn, task)
    elif turn.state in _FAILURES and task.because is not Because.CANCELLED:
        _fail_attempt(work, turn, task)
    elif turn.state in (TurnState.CANCELLED, *_FAILURES):
        because = None if turn.stopped_by is None else Because.CANCELLED
        fail_task(work, task, turn.error or "cancelled", turn, because)
    finish_batch(work, task.batch)


def _decided_by_its_issue(work: Work, task: Task) -> bool:
    """Its issue was closed undone, and nobody has moved the task since."""
    move = work.state.issue_moves.get(task.id)
    return (
        move is not None
        and task.status is Status.FAILED is move.status
        and task.updated_ms == move.moved_ms
    )


def _was_only_stopped(turn: Turn, task: Task) -> bool:
    """While it ran, and not for good: whatever its end says then, as that it has timed out."""
    if turn.started_ms is None or task.because is Because.CANCELLED:
        return False
    if turn.state is TurnState.CANCELLED:
        return True
    return turn.state in _FAILURES and turn.stopped_by is not None


def _set_back(work: Work, turn: Turn, task: Task) -> None:
    """Stopped while it ran: READY, and held, so that it does not start again by itself.

    One that was ended because it was done elsewhere, and is wanted again since, is not held. A
    batch that admits nothing leaves it there, without a turn.
    """
    if task.status in SETTLED:
        return
    task = work.set_status(task.id, Status.READY, turn=turn.id, error=turn.error)
    if work.state.batches[task.batch].stopped_admitting:
        return
    again = queue_again(
        work, turn, trigger=Trigger.TASK, lane=Status.READY, held_by=turn.stopped_by
    )
    _is_its_latest(work, task, again)


def _is_its_latest(work: Work, task: Task, turn: Turn) -> None:
    """What a task's new turn is told is what its step was told before."""
    if task.step or task.shared is not None:
        repeat_step(work, turn)
    work.put_task(evolve(work.state.tasks[task.id], turn=turn.id))


def _fail_attempt(work: Work, turn: Turn, task: Task) -> None:
    attempts = task.attempts + 1
    task = evolve(task, attempts=attempts)
    work.put_task(task)
    batch = work.state.batches[task.batch]
    if attempts >= batch.max_attempts or batch.stopped_admitting:
        fail_task(work, task, turn.error or "failed", turn)
        return
    task = work.set_status(task.id, Status.FAILED, turn=turn.id, error=turn.error)
    not_before_ms = work.now_ms + backoff_ms(attempts)
    retry = queue_again(
        work, turn, trigger=Trigger.RETRY, lane=Status.FAILED, not_before_ms=not_before_ms
    )
    _is_its_latest(work, task, retry)


def backoff_ms(attempts: int) -> int:
    """How long a retry waits: 2^n seconds, at most 5 minutes, jittered by a quarter."""
    seconds = min(2**attempts, LONGEST_BACKOFF_SECONDS)
    return int(seconds * 1000 * random.uniform(0.75, 1.0))


def fail_task(
    work: Work,
    task: Task,
    error: str,
    turn: Turn | None = None,
    because: Because | None = None,
) -> None:
    """The task has failed for good; those that need it fail with it, and `on_error` acts."""
    number = None if turn is None else turn.id
    if task.status in COMPLETED:
        return
    task = work.set_status(task.id, Status.FAILED, turn=number, error=error, because=because)
    _fail_children(work, task)
    batch = work.state.batches[task.batch]
    if batch.on_error is OnError.FAIL and not batch.stopped_admitting:
        stop_admitting(work, batch)


def fail_with(work: Work, task: Task, parent: Task) -> None:
    """A task that is new fails because one that it needs has failed."""
    fail_task(work, task, _needs(parent), because=Because.DEPENDENCY)


def _needs(parent: Task) -> str:
    """Why a task has failed that needs another, in words."""
    return f"dependency {parent.key} failed"


def _failed_with_another(task: Task) -> bool:
    return task.status is Status.FAILED and task.because is Because.DEPENDENCY


def _fail_children(work: Work, parent: Task) -> None:
    """Those that need it, those that need them, and so on, however long the chain."""
    failed = deque([parent])
    while failed:
        parent = failed.popleft()
        for child_id in work.state.children.get(parent.id, ()):
            child = work.state.tasks[child_id]
            waiting = queued_turns(work, child)
            if child.status in COMPLETED or (child.status is Status.FAILED and not waiting):
                continue
            words = _needs(parent)
            child = work.set_status(
                child.id, Status.FAILED, error=words, because=Because.DEPENDENCY
            )
            for turn in waiting:
                drop_queued(work, turn, words)
            failed.append(child)


def queued_turns(work: Work, task: Task) -> Sequence[Turn]:
    """The task's queued turns that decide it."""
    turns = work.state.open_turns(task)
    return [t for t in turns if t.state is TurnState.QUEUED and t.trigger in DECIDES_TASK]


def stop_admitting(work: Work, batch: Batch) -> None:
    """`on_error: fail`: what runs goes on, what is queued does not start; its tasks stay READY."""
    work.put_batch(evolve(batch, stopped_admitting=True))
    queued = [
        turn
        for turn in work.state.turns.values()
        if turn.batch == batch.name
        and turn.state is TurnState.QUEUED
        and turn.trigger in DECIDES_TASK
    ]
    for turn in queued:
        drop_queued(work, turn, _HAS_FAILED)


def complete_task(work: Work, parent: Task) -> None:
    """Those that need the task may go on; those that failed only because of it are READY again."""
    for child_id in work.state.children.get(parent.id, ()):
        child = work.state.tasks[child_id]
        if _failed_with_another(child):
            _bring_back(work, child)
    refresh_children(work, parent)


def refresh_children(work: Work, parent: Task) -> None:
    """Queued turns of those that need the task wait for it exactly while it is not done."""
    for child_id in work.state.children.get(parent.id, ()):
        child = work.state.tasks[child_id]
        for turn in queued_turns(work, child):
            left = work.state.open_dependencies(child.depends_on)
            if left != turn.depends_on:
                work.requeue_changed(evolve(turn, depends_on=left))


def bring_children_back(work: Work, parent: Task) -> None:
    """Those that failed only because of a task that is queued again, as before, are READY again."""
    for child_id in work.state.children.get(parent.id, ()):
        child = work.state.tasks[child_id]
        if _failed_with_another(child):
            _bring_back(work, child, but=parent.id)


def _bring_back(work: Work, task: Task, but: int | None = None) -> None:
    """READY again, with those that failed only because of it, unless another it needs failed.

    `but`: a task that is FAILED and tried again; it keeps nothing back.
    """
    back = deque([task.id])
    while back:
        task = work.state.tasks[back.popleft()]
        if task.status is not Status.FAILED:
            continue  # by another way it is back already
        needed = [work.state.tasks[parent] for parent in task.depends_on]
        failed = [p for p in needed if p.status is Status.FAILED and p.id != but]
        if failed:
            work.put_task(evolve(task, error=_needs(failed[0])))
            continue
        if task.agent not in work.state.agents:
            work.put_task(evolve(task, error=f"agent {task.agent} was removed"))
            continue
        task = work.set_status(task.id, Status.READY)
        if not has_open_turn(work, task):
            begin_task(work, task)
        for child_id in work.state.children.get(task.id, ()):
            child = work.state.tasks[child_id]
            if _failed_with_another(child):
                back.append(child.id)


def begin_task(
    work: Work,
    task: Task,
    *,
    trigger: Trigger = Trigger.TASK,
    folder: Folder | None = None,
    lane: Status | None = None,
    held_by: str | None = None,
) -> Turn:
    """Queues the turn of a task that has none."""
    latest = None if task.turn is None else work.state.turns.get(task.turn)
    if folder is None:
        folder = _place_of_new(work, task) if latest is None else latest.folder
    if task.index is not None:
        folder = place_of(work, task)
    turn = queue_for(
        work,
        task,
        trigger=trigger,
        lane=task.status if lane is None else lane,
        folder=folder,
        position=None if latest is None else latest.position,
        held_by=held_by,
    )
    _is_its_latest(work, task, turn)
    return turn


def _place_of_new(work: Work, task: Task) -> Folder | None:
    """Where a task works that was decided before it had a turn."""
    agent = work.state.agents.get(task.agent)
    named = task.folder or (None if agent is None else agent.folder)
    return work.state.places.get(work.state.defined_folders.get(named, named)) if named else None


def reopen_batch(work: Work, batch: Batch, by: str | None = None) -> None:
    """A batch that ended, or stopped admitting, goes on: its tasks without a turn get one."""
    if batch.state is BatchState.RUNNING and not batch.stopped_admitting:
        return
    work.put_batch(evolve(batch, state=BatchState.RUNNING, ended_ms=None, stopped_admitting=False))
    tasks = [task for task in work.state.tasks.values() if task.batch == batch.name]
    idle = [task for task in tasks if task.status in ADMISSIBLE and not has_open_turn(work, task)]
    work.emit("batch.started", batch=batch.name, by=by, tasks=len(idle))
    for task in idle:
        begin_task(work, task)


def has_open_turn(work: Work, task: Task) -> bool:
    """Whether a turn that decides the task has not ended."""
    turn = None if task.turn is None else work.state.turns.get(task.turn)
    return turn is not None and turn.ended_ms is None


def leave_unstarted(work: Work, turn: Turn) -> None:
    """A turn that was put back into a batch that admits nothing is dropped; its task is READY."""
    if turn.task is None or turn.trigger not in DECIDES_TASK:
        return
    task = work.state.tasks[turn.task]
    if not work.state.batches[task.batch].stopped_admitting:
        return
    if task.status is Status.IN_PROGRESS:
        work.set_status(task.id, Status.READY)
    drop_queued(work, work.state.turns[turn.id], _HAS_FAILED)
    finish_batch(work, task.batch)


def finish_batch(work: Work, name: str) -> None:
    """Ends a batch whose tasks have all come to their end, or, having failed, when all is still."""
    batch = work.state.batches[name]
    if batch.state is not BatchState.RUNNING or work.state.unfinished.get(name):
        return
    if batch.adding is not None:
        return
    if not batch.stopped_admitting and not (
        has_passed(work.state, name) and settled(work.state, name)
    ):
        return
    counts = work.state.task_counts.get(name, {})
    failed = counts.get(Status.FAILED, 0)
    if batch.stopped_admitting or is_refused(work.state, name):
        state = BatchState.FAILED
    else:
        state = BatchState.COMPLETED_WITH_ERRORS if failed else BatchState.COMPLETED
    work.put_batch(evolve(batch, state=state, ended_ms=work.now_ms))
    done = sum(counts.get(status, 0) for status in COMPLETED)
    work.emit("batch.finished", batch=name, state=state, done=done, failed=failed)
