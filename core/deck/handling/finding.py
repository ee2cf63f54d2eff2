"""Finds what a person named: a task, a turn, a batch."""

from __future__ import annotations

from batchdeck.core.deck.state import DeckState
from batchdeck.core.errors import Ambiguous, NotFound
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import Turn


def find_task(state: DeckState, name: str) -> Task:
    """A task by `BATCH/TASK`, or by its bare key where that is unambiguous.

    Raises:
        NotFound: none of that name.
        Ambiguous: several batches have one, and not just one of them is active.
    """
    batch, slash, key = name.rpartition("/")
    if slash:
        found = [state.task_ids[batch, key]] if (batch, key) in state.task_ids else []
    else:
        found = [state.task_ids[b, name] for b in state.batches if (b, name) in state.task_ids]
    tasks = [state.tasks[task] for task in found]
    if len(tasks) > 1:
        active = [t for t in tasks if state.batches[t.batch].state is BatchState.RUNNING]
        tasks = active if len(active) == 1 else tasks
    if not tasks:
        raise NotFound(f"There is no task {name!r} on this deck.")
    if len(tasks) > 1:
        options = ", ".join(task.name for task in tasks)
        raise Ambiguous(f"{name!r} is in several batches; say which: {options}.")
    return tasks[0]


def need_agent(state: DeckState, name: str) -> None:
    """
    Raises:
        NotFound: the agent's definition was taken away.
    """
    if name not in state.agents:
        raise NotFound(f"Agent {name!r} was removed; add it again with batchdeck agent add.")


def find_turn(state: DeckState, turn_id: int) -> Turn:
    """A turn in memory by its number.

    Raises:
        NotFound: there is none, or it ended long ago.
    """
    turn = state.turns.get(turn_id)
    if turn is None:
        raise NotFound(f"There is no turn #{turn_id}, or it ended long ago.")
    return turn
