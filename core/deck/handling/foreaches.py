"""What a batch with a foreach brings beside its tasks: its plan, its barrier, its places."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from batchdeck.core.deck.handling.adding import Places
from batchdeck.core.deck.items import Items
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BadInput
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.foreach import BARRIER_KEY
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import Status, Task
from batchdeck.core.text import counted


def with_barrier(spec: BatchSpec) -> BatchSpec:
    """The batch with the task that stands for the barrier of its foreach."""
    if spec.foreach is None:
        return spec
    barrier = TaskSpec(
        key=BARRIER_KEY,
        agent=spec.foreach["steps"][0]["agent"],
        title="the barrier",
        status=Status.BACKLOG,
        barrier=True,
    )
    return replace(spec, tasks=(*spec.tasks, barrier))


def foreach_document(spec: BatchSpec) -> str | None:
    """What is stored of a foreach; its items are rows of their own."""
    if spec.foreach is None:
        return None
    return json.dumps({key: value for key, value in spec.foreach.items() if key != "items"})


def check_items_may_come(existing: Batch | None, new: Sequence[TaskSpec]) -> None:
    """
    Raises:
        BadInput: the barrier is committed, and there are more items now.
    """
    if existing is None or existing.committed is None:
        return
    late = [task.key for task in new if task.index is not None]
    if late:
        raise BadInput(
            f"{existing.name}: its barrier is committed, and "
            f"{counted(len(late), 'item is', 'items are')} new ({', '.join(late[:5])}). "
            "Nothing was changed; give the batch another name."
        )


def check_conversations(work: Work, spec: BatchSpec) -> None:
    """
    Raises:
        BadInput: two agents would share a named conversation.
    """
    items = work.state.foreaches.get(spec.name)
    agents: dict[str, str] = {}
    if items is not None and items.has_begun:
        state = work.state
        agents = {
            called: state.conversations[number].agent
            for (batch, called), number in state.named.items()
            if batch == spec.name
        }
    for task in spec.tasks:
        if task.conversation is None:
            continue
        owner = agents.setdefault(task.conversation, task.agent)
        if owner != task.agent:
            raise BadInput(
                f"{spec.name}: conversation {task.conversation!r} is {owner}'s, and {task.key} "
                f"would have {task.agent} share it. Nothing was changed."
            )


def take_in_foreach(work: Work, spec: BatchSpec, batch: Batch, places: Places) -> None:
    """Makes room for the items of a batch, and gives the folders of later steps their rows."""
    if batch.foreach is None:
        return
    items = work.state.foreaches.get(batch.name)
    if items is None:
        work.state.foreaches[batch.name] = Items(batch.foreach)
    else:
        items.plan = batch.foreach
    defined = {**work.state.defined_folders, **spec.folders}
    named = {agent.folder for agent in (*work.state.agents.values(), *spec.agents.values())}
    named |= set(spec.folders_of_steps) | {task.folder for task in spec.tasks}
    for name in named - {None}:
        folder = places[defined.get(str(name), str(name))]
        work.state.places[defined.get(str(name), str(name))] = folder
    for name in spec.folders_of_steps:
        work.know_folder(places[defined.get(name, name)])


def know_barrier(work: Work, spec: BatchSpec) -> None:
    """Remembers which task stands for the barrier."""
    if spec.foreach is not None:
        items = work.state.foreaches[spec.name]
        items.barrier = work.state.task_ids[spec.name, BARRIER_KEY]


def refuse_barrier(task: Task) -> None:
    """
    Raises:
        BadInput: the task stands for a barrier, and nobody decides it.
    """
    if task.barrier:
        raise BadInput(
            f"{task.name} stands for the barrier of its foreach: it is done when every item is."
        )


def refuse_committed(work: Work, task: Task) -> None:
    """
    Raises:
        BadInput: the task is an item whose barrier is committed, so nothing of it can change.
    """
    batch = work.state.batches[task.batch]
    if task.index is not None and batch.committed is not None:
        raise BadInput(f"{task.name} cannot change any more: its barrier is committed.")
