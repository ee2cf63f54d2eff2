"""Finds what a person named: a task, a turn, a batch."""

from __future__ import annotations

from collections.abc import Mapping

from batchdeck.core.deck.state import DeckState
from batchdeck.core.errors import Ambiguous, NotFound
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.conversation import Conversation
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
    if not found:
        raise NotFound(f"There is no task {name!r} on this deck.")
    tasks = {state.tasks[task].batch: task for task in found}
    return state.tasks[_of_one_batch(state, tasks, name)]


def find_conversation(state: DeckState, name: str) -> Conversation:
    """The conversation that a batch's file calls so, by `BATCH/NAME` or by its bare name where
    that is unambiguous.

    Raises:
        NotFound: none of that name.
        Ambiguous: several batches have one, and not just one of them is active.
    """
    found = {
        batch: conversation
        for (batch, called), conversation in state.named.items()
        if name in (called, f"{batch}/{called}")
    }
    if not found:
        raise NotFound(f"There is no conversation {name!r} on this deck.")
    return state.conversations[_of_one_batch(state, found, name)]


def _of_one_batch(state: DeckState, found: Mapping[str, int], name: str) -> int:
    """Of what several batches have the one that is meant: of the only batch that is active."""
    active = [batch for batch in found if state.batches[batch].state is BatchState.RUNNING]
    batches = active if len(active) == 1 else list(found)
    if len(batches) > 1:
        key = name.rpartition("/")[2]
        options = ", ".join(f"{batch}/{key}" for batch in batches)
        raise Ambiguous(f"{name!r} is in several batches; say which: {options}.")
    return found[batches[0]]


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
