"""A new task: its row, its conversation, its first turn; from a batch file or one by one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from batchdeck.core.commands import AddTask, Receipt
from batchdeck.core.deck.conversing import know_named, new_conversation
from batchdeck.core.deck.handling.receiving import note_delivery, received
from batchdeck.core.deck.tasks import begin_task, fail_with
from batchdeck.core.deck.turns import drop_queued, queue_for
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BadInput, NotFound, Refused
from batchdeck.core.model.batch import INBOX, Batch, BatchState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.issue import read_issue
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import SETTLED, Status, Task, check_key
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.order import place

Places = Mapping[str, Folder]
"""Identities of the folders that tasks and agents name, by path; looked up beforehand."""


def fingerprint(spec: TaskSpec) -> str:
    """What must not change once a task has begun, as one short text."""
    return hashlib.sha256(json.dumps(spec.fingerprint, default=str).encode()).hexdigest()[:32]


def reserve_ids(work: Work, batch: str, tasks: Iterable[TaskSpec]) -> None:
    """Gives tasks their ids, so that each may name any other."""
    for task in tasks:
        work.state.task_ids[batch, task.key] = work.state.next.task
        work.state.next.task += 1


def add_row(work: Work, batch: str, wanted: TaskSpec, position: int) -> Task:
    """A task's row with its conversation; its id is reserved, and it has no turn yet."""
    state = work.state
    row_id = state.task_ids[batch, wanted.key]
    conversation = new_conversation(work, wanted.agent, row_id, wanted.title)
    know_named(work, batch, wanted.conversation, wanted.agent)
    task = Task(
        id=row_id,
        key=wanted.key,
        batch=batch,
        title=wanted.title or wanted.key,
        agent=wanted.agent,
        status=wanted.status,
        conversation=conversation.id,
        position=position,
        priority=wanted.priority,
        target=wanted.target,
        folder=wanted.folder,
        issue=wanted.issue,
        depends_on=tuple(state.task_ids[batch, key] for key in wanted.depends_on),
        updated_ms=work.now_ms,
        index=wanted.index,
        item=wanted.item,
        barrier=wanted.barrier,
        shared=wanted.conversation,
    )
    work.add_task(task, own_words(wanted), fingerprint(wanted))
    return task


def refuse_while_added(batch: Batch | None) -> None:
    """
    Raises:
        Refused: it is being added, and not whole yet.
    """
    if batch is not None and batch.adding is not None:
        raise Refused(f"{batch.name} is being added at this moment; try again.")


def own_words(wanted: TaskSpec) -> str:
    """What begins a task's own conversation; an item that begins in a named one is told there."""
    return wanted.prompt if wanted.conversation is None else ""


def begin_new(
    work: Work, task: Task, wanted: TaskSpec, places: Places, spec: BatchSpec | None = None
) -> None:
    """Queues the turn of a new task, or fails it at once where what it needs has failed.

    `spec`: the batch that it comes with, whose agents and folders may not be known yet.
    """
    if task.barrier:
        return
    folder = folder_of(work, task, places, spec)
    if folder is not None:
        work.know_folder(folder)  # also where it is decided already: it may be taken up later
    if task.status in SETTLED:
        return
    from_parent = next(
        (
            parent
            for needed in task.depends_on
            if (parent := work.state.tasks.get(needed)) and parent.status is Status.FAILED
        ),
        None,
    )
    if from_parent is not None:
        fail_with(work, task, from_parent)
        return
    text = None if wanted.conversation is None else wanted.prompt
    turn = queue_for(work, task, lane=task.status, folder=folder, position=None, text=text)
    work.put_task(evolve(work.state.tasks[task.id], turn=turn.id))


def folder_of(
    work: Work, task: Task, places: Places, spec: BatchSpec | None = None
) -> Folder | None:
    """Where a task works: its own folder, else its agent's, else none (scratch)."""
    brought = None if spec is None else spec.agents.get(task.agent)
    named = task.folder or (brought or work.state.agents[task.agent]).folder
    if named is None:
        return None
    path = None if spec is None else spec.folders.get(named)
    return places[path or work.state.defined_folders.get(named, named)]


def add_task(work: Work, command: AddTask, places: Places, earlier: Turn | None) -> Receipt:
    """Adds one task, to a batch or to the inbox. `earlier`: the turn its delivery already made.

    Raises:
        NotFound: no such agent, batch or task to depend on.
        BadInput: the id is taken, or is none; its prompt is empty; its issue is none.
        Refused: the delivery id was that of a message.
    """
    earlier = received(work, command.delivery_id, earlier)
    if earlier is not None and earlier.task is not None:
        return _receipt(work, work.state.tasks[earlier.task])
    if earlier is not None:
        raise Refused(
            f"Delivery {command.delivery_id} was a message, #{earlier.id}.", code="delivered"
        )
    batch = command.batch or INBOX
    wanted = _checked(work, command, batch)
    _open_batch(work, batch, command.by)
    reserve_ids(work, batch, [wanted])
    position = sum(work.state.task_counts.get(batch, {}).values())
    task = add_row(work, batch, wanted, position)
    begin_new(work, task, wanted, places)
    task = work.state.tasks[task.id]
    if command.unauthorised and task.turn is not None:
        turn = evolve(work.state.turns[task.turn], authorised=False)
        work.put_turn(turn)
        work.refresh(turn.id)
    if command.delivery_id is not None:
        note_delivery(
            work, command.delivery_id, task.turn or _turn_that_never_starts(work, task, places)
        )
    return _receipt(work, work.state.tasks[task.id])


def _turn_that_never_starts(work: Work, task: Task, places: Places) -> int:
    """A delivery is a turn also where its task is decided already, so that it is known again."""
    turn = begin_task(work, task, lane=Status.READY, folder=folder_of(work, task, places))
    drop_queued(work, turn, task.error or f"{task.key} is {task.status}")
    return turn.id


def _checked(work: Work, command: AddTask, batch: str) -> TaskSpec:
    wanted, state = command.task, work.state
    check_key(wanted.key)
    if wanted.agent not in state.agents:
        known = ", ".join(sorted(state.agents)) or "none"
        raise NotFound(f"There is no agent {wanted.agent!r}. There are: {known}.")
    if batch != INBOX and batch not in state.batches:
        raise NotFound(f"There is no batch {batch!r} on this deck.")
    if wanted.issue is not None:
        read_issue(wanted.issue)
    for key in wanted.depends_on:
        if (batch, key) not in state.task_ids:
            raise NotFound(f"There is no task {key!r} in {batch} to depend on.")
    if (batch, wanted.key) in state.task_ids:
        raise BadInput(f"{batch} has a task {wanted.key!r} already.")
    if not wanted.prompt.strip():
        raise BadInput(f"The prompt of {wanted.key} is empty: say what is to be done.")
    return wanted


def _open_batch(work: Work, name: str, by: str) -> None:
    batch = work.state.batches.get(name)
    refuse_while_added(batch)
    if batch is None:
        row_id = work.state.next.batch
        work.state.next.batch += 1
        batch = Batch(id=row_id, name=name, created_ms=work.now_ms)
    elif batch.state is BatchState.RUNNING:
        return
    work.put_batch(evolve(batch, state=BatchState.RUNNING, ended_ms=None, stopped_admitting=False))
    work.emit("batch.started", batch=name, by=by, tasks=1)


def _receipt(work: Work, task: Task) -> Receipt:
    turn = None if task.turn is None else work.state.turns.get(task.turn)
    queued = turn is not None and turn.state is TurnState.QUEUED
    return Receipt(
        accepted=True,
        batch=task.batch,
        turn=task.turn,
        conversation=task.conversation,
        state=None if turn is None else turn.state,
        position=place(turn, work.view) if turn is not None and queued else None,
        message=f"{task.name} added",
    )
