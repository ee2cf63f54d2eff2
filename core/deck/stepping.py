"""An item's way through its steps: what an answer becomes, and what the next step is given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.batchfile import templates
from batchdeck.core.deck.conversing import hand_over, know_named
from batchdeck.core.deck.items import Items, Left, NextWords
from batchdeck.core.deck.turns import drop_queued, queue_for
from batchdeck.core.deck.work import Work
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.foreach import NoValue, Step, value_of, write_words
from batchdeck.core.model.task import COMPLETED, Status, Task
from batchdeck.core.model.turn import DECIDES_TASK, Turn, TurnState
from batchdeck.core.paths import absolute
from batchdeck.core.rules.barrier import Conflict, Patch, first, visible
from batchdeck.core.store import changes as sql
from batchdeck.core.text import clean_line, clean_text


def take_answer(work: Work, turn: Turn, outcome: Outcome) -> Outcome:
    """Keeps what a step of an item answered; one that cannot be used is a failure of its turn."""
    if outcome.state is not TurnState.SUCCEEDED or turn.trigger not in DECIDES_TASK:
        return outcome
    task = None if turn.task is None else work.state.tasks[turn.task]
    if task is None or task.index is None or task.status in COMPLETED:
        return outcome
    items = work.state.foreaches[task.batch]
    try:
        found = _read(items, task, outcome.text)
        words = _next_words(items, task, found)
        if words is not None:
            _check_conversation(work, task, words.conversation)
    except (NoValue, Conflict, templates.TemplateFault) as error:
        return evolve(outcome, state=TurnState.FAILED, error=clean_line(str(error), 300))
    items.left[task.id] = found
    if words is not None:
        items.next_words[task.id] = words
    _save(work, task, items.plan.steps[task.step], found)
    return outcome


def _read(items: Items, task: Task, answer: str) -> Left:
    """What the item has left, with this answer.

    Raises:
        NoValue: it is not of the kind that the step declares, or does not fit its reducer.
        Conflict: the item's own writes do not go together.
    """
    step = items.plan.steps[task.step]
    before = items.left.get(task.id) or Left()
    kept = dict(before.kept)
    patches = [patch for patch in before.patches if patch.step != task.step]
    if step.keep is None and step.writes is None:
        return Left(kept, patches)
    value = value_of(step.kind, answer)
    if step.keep is not None:
        kept[step.keep] = value
    if step.writes is not None:
        assert task.index is not None
        try:
            first(step.reducer, value)
        except ValueError as error:
            raise NoValue(f"its answer cannot be written to {step.writes}: {error}") from None
        patches.append(Patch(task.index, task.step, step.writes, value, step.reducer))
        visible(patches)
    return Left(kept, patches)


def _save(work: Work, task: Task, step: Step, left: Left) -> None:
    if step.keep is not None:
        value = json.dumps(left.kept[step.keep])
        work.changes.add(sql.SAVE_ITEM_VALUE, (task.id, task.step, "keep", step.keep, None, value))
    if step.writes is not None:
        value = json.dumps(left.patches[-1].value)
        work.changes.add(
            sql.SAVE_ITEM_VALUE, (task.id, task.step, "write", step.writes, step.reducer, value)
        )
        work.put_task(evolve(task, wrote=write_words(step.writes, value)))


def _next_words(items: Items, task: Task, left: Left) -> NextWords | None:
    """The next step's texts, filled in; None after the last.

    Raises:
        TemplateFault: what the item left does not fit them.
    """
    number = task.step + 1
    if number >= len(items.plan.steps):
        return None
    step = items.plan.steps[number]
    item = json.loads(task.item or "null")
    names: dict[str, Any] = {**visible(left.patches), **left.kept}
    names |= {"item": item, "index": task.index, "batch": task.batch}
    try:
        from batchdeck.core.batchfile.expanding import step_title  # its schema loads slowly

        title = clean_line(templates.fill(step.title or "", names).strip())
        return NextWords(
            prompt=clean_text(templates.fill(step.prompt, names)),
            title=step_title(items.plan, number, title, item),
            target=_line(step.target, names),
            folder=_line(step.folder, names) if step.folder is not None else None,
            conversation=_line(step.conversation, names),
        )
    except templates.TemplateFault as fault:
        raise templates.TemplateFault(f"step {step.id} cannot go on with it: {fault}") from None


def _check_conversation(work: Work, task: Task, called: str | None) -> None:
    """
    Raises:
        TemplateFault: it is another agent's; nobody could know before the name was filled in.
    """
    known = None if called is None else work.state.named.get((task.batch, called))
    step = work.state.foreaches[task.batch].plan.steps[task.step + 1]
    if known is not None and (owner := work.state.conversations[known].agent) != step.agent:
        raise templates.TemplateFault(
            f"step {step.id} cannot go on with it: conversation {called!r} is {owner}'s, "
            f"and {step.agent} cannot share it"
        )


def _line(text: str | None, names: Mapping[str, Any]) -> str | None:
    return None if text is None else clean_line(templates.fill(text, names).strip()) or None


def goes_on(work: Work, turn: Turn, task: Task) -> bool:
    """Whether a turn that succeeded was not the last step of an item."""
    if task.index is None or turn.state is not TurnState.SUCCEEDED:
        return False
    items = work.state.foreaches[task.batch]
    return task.status not in COMPLETED and task.id in items.next_words


def next_step(work: Work, turn: Turn, task: Task) -> None:
    """Queues the next step of an item at its place; a batch that admits nothing leaves it there."""
    items = work.state.foreaches[task.batch]
    words = items.next_words.pop(task.id)
    step = items.plan.steps[task.step + 1]
    task = evolve(
        task,
        step=task.step + 1,
        agent=step.agent,
        title=words.title,
        target=words.target,
        folder=None if step.folder is None else _path(work, task, words.folder),
        priority=step.priority,
        attempts=0,
        shared=words.conversation,
    )
    work.put_task(task)
    row = (task.step, task.agent, task.title, task.target, task.folder, task.priority)
    work.changes.add(sql.ADVANCE_TASK, (*row, task.shared, task.id))
    if task.shared is None:
        hand_over(work, task.conversation, task.agent)
    else:
        know_named(work, task.batch, task.shared, task.agent)
    following = queue_for(
        work,
        task,
        lane=Status.IN_PROGRESS,
        folder=place_of(work, task),
        position=turn.position,
        text=words.prompt,
    )
    work.put_task(evolve(task, turn=following.id))
    if work.state.batches[task.batch].stopped_admitting:
        work.set_status(task.id, Status.READY)
        drop_queued(work, following, "the batch has failed")


def _path(work: Work, task: Task, written: str | None) -> str:
    """A step's folder as an absolute path, or the name that the deck defines for one."""
    name = written or "."
    if name in work.state.defined_folders:
        return name
    return absolute(name, Path(work.state.batches[task.batch].base))


def place_of(work: Work, task: Task) -> Folder | None:
    """Where an item's step works: the step's folder, else its agent's, else none (scratch)."""
    named = task.folder or work.state.agents[task.agent].folder
    if named is None:
        return None
    return work.state.places[work.state.defined_folders.get(named, named)]
