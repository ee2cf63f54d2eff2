"""Adding a batch, taking one up again, and resuming what is unfinished."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from batchdeck.core.commands import AddBatch, Receipt, ResumeBatch
from batchdeck.core.deck.conversing import hand_over, know_named
from batchdeck.core.deck.handling.adding import (
    Places,
    fingerprint,
    folder_of,
    own_words,
    refuse_while_added,
)
from batchdeck.core.deck.handling.agents import contradiction, same_definition, save_agent
from batchdeck.core.deck.handling.foreaches import (
    check_conversations,
    check_items_may_come,
    foreach_document,
    know_barrier,
    take_in_foreach,
    with_barrier,
)
from batchdeck.core.deck.handling.limits import put_limit
from batchdeck.core.deck.handling.parts import Coming
from batchdeck.core.deck.spending import take_in_budget
from batchdeck.core.deck.tasks import (
    begin_task,
    finish_batch,
    queued_turns,
    reopen_batch,
    stop_admitting,
)
from batchdeck.core.deck.turns import drop_queued, queue_for, step_behind
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BadInput, NotFound
from batchdeck.core.model.batch import Batch, BatchState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.foreach import foreach_from
from batchdeck.core.model.limit import GLOBAL, Limit, batch_limit
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import ADMISSIBLE, SETTLED, Status, Task
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.points import reached
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.store import changes as sql
from batchdeck.core.text import counted


def add_batch(work: Work, command: AddBatch, places: Places, known: Mapping[str, str]) -> Receipt:
    """Adds a batch, or takes up the one of that name. `known`: stored fingerprints by task key.

    A large one is only begun: `work.coming` is what `add_part` goes on with.

    Raises:
        Refused: it is being added already.
        BadInput: a begun task changed or is gone, or an agent contradicts another active batch's.
    """
    spec = with_barrier(command.spec)
    existing = work.state.batches.get(spec.name)
    refuse_while_added(existing)
    _check_agents(work, spec)
    changed = _changed_tasks(work, spec, known) if existing else []
    new = [task for task in spec.tasks if task.key not in known]
    if existing is not None and existing.state is not BatchState.RUNNING and not new:
        return _ended_already(work, spec, existing)
    check_items_may_come(existing, new)
    check_conversations(work, spec)
    coming = Coming(spec, command.by, _batch_row(work, spec, existing), new, changed, places)
    _begin(work, coming, existing)
    if not coming.is_large:
        _settle(work, coming)
    return add_part(work, coming) or _added(coming)


def add_part(work: Work, coming: Coming) -> Receipt | None:
    """Adds the next part of a batch; None: there are others, and it is to be called again."""
    is_last = coming.is_last
    coming.add_part(work)
    if not is_last:
        work.coming = coming
        return None
    if coming.is_large:
        take_in_foreach(work, coming.spec, coming.batch, coming.places)
        _settle(work, coming)
    know_barrier(work, coming.spec)
    reached("import")
    finish_batch(work, coming.spec.name)
    return _added(coming)


def _begin(work: Work, coming: Coming, existing: Batch | None) -> None:
    """What the tasks' rows need; a large batch is marked, so that nothing of it starts."""
    spec, batch = coming.spec, coming.batch
    first = work.state.next.task
    if not coming.is_large:
        work.put_batch(batch)
    else:
        work.put_batch(evolve(existing or batch, adding=first))
    if existing is None:
        _save_plan(work, coming)
    take_in_foreach(work, spec, batch, coming.places)
    if existing is None or existing.state is not BatchState.RUNNING:
        count = sum(not task.barrier for task in spec.tasks)
        work.emit("batch.started", batch=spec.name, by=coming.by, tasks=count)


def _save_plan(work: Work, coming: Coming) -> None:
    spec = coming.spec
    budget = None if spec.budget is None else json.dumps(dict(spec.budget))
    work.changes.add(sql.SAVE_BATCH_PLAN, (budget, foreach_document(spec), coming.batch.id))


def _settle(work: Work, coming: Coming) -> None:
    """What a batch means for others: its agents, folders and limits; from here on it may start."""
    spec = coming.spec
    has_failed = coming.is_large and work.state.batches[spec.name].stopped_admitting
    work.put_batch(coming.batch)
    if has_failed:  # a task that was there before, meanwhile
        stop_admitting(work, coming.batch)
    _save_plan(work, coming)
    take_in_budget(work, spec.name, spec.budget)
    for agent in spec.agents.values():
        save_agent(work, agent, origin=spec.file or spec.name)
    for name, path in spec.folders.items():
        work.state.defined_folders[name] = path
        work.changes.add(sql.DEFINE_FOLDER, (name, path))
    _put_limits(work, spec, coming.by)
    for task in coming.changed:
        _replan(work, spec, task, coming.places)


def _ended_already(work: Work, spec: BatchSpec, existing: Batch) -> Receipt:
    """Nothing is added; but a corrected agent is what a retry will start."""
    changed = [
        name
        for name, agent in spec.agents.items()
        if name not in work.state.agents or not same_definition(work.state.agents[name], agent)
    ]
    for name in changed:
        save_agent(work, spec.agents[name], origin=spec.file or spec.name)
    words = [f"{spec.name} is already {existing.state.replace('_', ' ')}."]
    if changed:
        words.append(f"Changed by the file: agent {', '.join(changed)}.")
    if work.state.task_counts.get(spec.name, {}).get(Status.FAILED):
        words.append("batchdeck task retry TASK tries a failed one again.")
    return Receipt(accepted=True, batch=spec.name, message=" ".join(words))


def _added(coming: Coming) -> Receipt:
    name, new = coming.spec.name, coming.new
    items = sum(task.index is not None for task in new)
    tasks = sum(task.index is None and not task.barrier for task in new)
    words = [counted(tasks, "task")] if tasks or not items else []
    what = " and ".join([*words, counted(items, "item")] if items else words)
    return Receipt(accepted=True, batch=name, message=f"{name}: {what} added.")


def _batch_row(work: Work, spec: BatchSpec, existing: Batch | None) -> Batch:
    if existing is None:
        row_id, created = work.state.next.batch, work.now_ms
        work.state.next.batch += 1
    else:
        row_id, created = existing.id, existing.created_ms
    return Batch(
        id=row_id,
        name=spec.name,
        on_error=spec.on_error,
        collect_to=spec.collect_to,
        interrupt=spec.interrupt,
        max_attempts=spec.max_attempts,
        reconciliation_interval_seconds=spec.reconciliation_interval_seconds,
        base=spec.base,
        file=spec.file,
        prepare=spec.prepare,
        created_ms=created,
        foreach=None if spec.foreach is None else foreach_from(spec.foreach),
        committed=None if existing is None else existing.committed,
    )


def _check_agents(work: Work, spec: BatchSpec) -> None:
    for agent in spec.agents.values():
        using = contradiction(work.state, agent, other_than=spec.name)
        if using is not None:
            raise BadInput(
                f"agent {agent.name} is defined otherwise by {using}, which is still active. "
                "Give it another name, or make both definitions the same."
            )


def _changed_tasks(work: Work, spec: BatchSpec, known: Mapping[str, str]) -> list[TaskSpec]:
    """Unbegun tasks that the file changes.

    Raises:
        BadInput: a begun task changed or is gone.
    """
    wanted = {task.key: task for task in spec.tasks}
    faults: list[str] = []
    changed: list[TaskSpec] = []
    for key, stored in known.items():
        task = work.state.tasks[work.state.task_ids[spec.name, key]]
        begun = _begun(work, task)
        if key not in wanted:
            faults.append(f"{key} is gone" if begun else f"{key} is gone; delete it with the deck")
        elif fingerprint(wanted[key]) != stored:
            if begun:
                faults.append(f"{key} has begun and is different now")
            else:
                changed.append(wanted[key])
    if faults:
        raise BadInput(
            f"{spec.name} has begun, and this file does not fit it: {'; '.join(faults[:10])}. "
            "Nothing was changed; give the batch another name to run it anew."
        )
    return changed


def _begun(work: Work, task: Task) -> bool:
    if task.status not in (Status.BACKLOG, Status.READY):
        return True
    turn = None if task.turn is None else work.state.turns.get(task.turn)
    return turn is not None and turn.attempt is not None


def _put_limits(work: Work, spec: BatchSpec, by: str) -> None:
    """A flag is a recorded change; what a file says never undoes what a person set."""
    for limit in spec.limits:
        flag = limit.origin.startswith("--")
        stored = work.state.limits.get(limit.name)
        if stored is None or flag or not stored.explicit:
            put_limit(work, evolve(limit, changed_by=by, changed_ms=work.now_ms, explicit=flag))
    _raise_global(work, spec, by)


def _raise_global(work: Work, spec: BatchSpec, by: str) -> None:
    """A deck limit that nobody ever set follows the batch's number upward."""
    deck = work.state.limits[GLOBAL]
    wanted = effective_limit(work.view, batch_limit(spec.name))
    if deck.explicit or wanted is None:
        return
    number = min(wanted, work.state.max_parallel_cap)
    if number > (deck.value or 0):
        put_limit(work, Limit(GLOBAL, number, by, work.now_ms, origin=f"batch {spec.name}"))


def _replan(work: Work, spec: BatchSpec, wanted: TaskSpec, places: Places) -> None:
    """An unbegun task takes what its file says now."""
    task = work.state.tasks[work.state.task_ids[spec.name, wanted.key]]
    hand_over(work, task.conversation, wanted.agent)
    know_named(work, spec.name, wanted.conversation, wanted.agent)
    queued = queued_turns(work, task)
    is_elsewhere = task.shared is not None or wanted.conversation is not None
    needs = tuple(work.state.task_ids[spec.name, key] for key in wanted.depends_on)
    _depend_on(work, task, needs)
    task = replace(
        task,
        title=wanted.title or wanted.key,
        agent=wanted.agent,
        priority=wanted.priority,
        target=wanted.target,
        folder=wanted.folder,
        issue=wanted.issue,
        depends_on=needs,
        item=wanted.item,
        shared=wanted.conversation,
    )
    work.put_task(task)
    _save_replanned(work, task, wanted)
    if is_elsewhere:
        _queue_anew(work, task, wanted, queued, places)
    else:
        _replan_turns(work, task, places)


def _queue_anew(
    work: Work, task: Task, wanted: TaskSpec, queued: Sequence[Turn], places: Places
) -> None:
    """What is queued of an item becomes a turn in the conversation that its file says now."""
    for turn in queued:
        drop_queued(work, turn, "its file was changed")
        again = queue_for(
            work,
            task,
            lane=task.status,
            folder=folder_of(work, task, places),
            position=turn.position,
            text=None if task.shared is None else wanted.prompt,
        )
        work.put_task(evolve(work.state.tasks[task.id], turn=again.id))


def _depend_on(work: Work, task: Task, needs: Sequence[int]) -> None:
    """Other tasks are to be done before this one."""
    for parent in task.depends_on:
        work.state.children[parent].remove(task.id)
    work.changes.add(sql.DROP_DEPENDENCIES, (task.id,))
    for parent in needs:
        work.state.children.setdefault(parent, []).append(task.id)
        work.changes.add(sql.INSERT_DEPENDENCY, (task.id, parent))


def _save_replanned(work: Work, task: Task, wanted: TaskSpec) -> None:
    work.changes.add(
        sql.REPLAN_TASK,
        (
            task.title,
            task.agent,
            own_words(wanted),
            task.priority,
            task.target,
            task.folder,
            task.issue,
            fingerprint(wanted),
            task.position,
            task.id,
        ),
    )
    if wanted.index is not None:
        work.changes.add(sql.REPLAN_ITEM, (wanted.item, task.shared, task.id))


def _replan_turns(work: Work, task: Task, places: Places) -> None:
    """What of the task is queued becomes what the task is now."""
    folder = folder_of(work, task, places)
    if folder is not None:
        work.know_folder(folder)
    for turn in queued_turns(work, task):
        changed = replace(
            turn,
            agent=task.agent,
            target=task.target,
            priority=task.priority,
            folder=folder,
            title=task.title,
            depends_on=work.state.open_dependencies(task.depends_on),
        )
        behind = work.state.lines.behind(turn)
        work.requeue_changed(changed)
        step_behind(work, changed)
        for other in behind:
            work.refresh(other.id)


def resume(work: Work, command: ResumeBatch) -> Receipt:
    """Takes up what is unfinished: tasks that may start and have no turn get one.

    Raises:
        NotFound: no such batch.
    """
    names = [command.batch] if command.batch is not None else list(work.state.batches)
    for name in names:
        if name not in work.state.batches:
            known = ", ".join(work.state.batches) or "none"
            raise NotFound(f"There is no batch {name!r} on this deck. There are: {known}.")
    resumed = [name for name in names if _resume_one(work, work.state.batches[name])]
    message = f"taken up again: {', '.join(resumed)}" if resumed else "nothing is unfinished"
    if command.batch is not None and not resumed:
        state = work.state.batches[command.batch].state
        message = f"{command.batch} is already {state.replace('_', ' ')}: {message}"
    return Receipt(accepted=True, batch=command.batch, message=message)


def _resume_one(work: Work, batch: Batch) -> bool:
    tasks = [task for task in work.state.tasks.values() if task.batch == batch.name]
    unfinished = [task for task in tasks if task.status not in SETTLED]
    if not unfinished:
        return False
    reopen_batch(work, batch)
    for task in (work.state.tasks[task.id] for task in unfinished):
        turn = None if task.turn is None else work.state.turns.get(task.turn)
        has_turn = turn is not None and turn.ended_ms is None
        if not has_turn and task.status in ADMISSIBLE:
            begin_task(work, task)
        elif turn is not None and turn.state is TurnState.QUEUED:
            work.refresh(turn.id)
    return True
