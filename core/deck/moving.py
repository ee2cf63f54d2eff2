"""A task moved by a person, a tracker or what was found: its turns follow, and its batch."""

from __future__ import annotations

from dataclasses import replace

from batchdeck.core.deck.blocking import close_ask
from batchdeck.core.deck.losing import open_ask_about
from batchdeck.core.deck.outcomes import end_waiting, stop_turn
from batchdeck.core.deck.restoring import keeps_back
from batchdeck.core.deck.tasks import (
    begin_task,
    complete_task,
    fail_task,
    finish_batch,
    has_open_turn,
    refresh_children,
    reopen_batch,
)
from batchdeck.core.deck.turns import drop_queued
from batchdeck.core.deck.work import Work
from batchdeck.core.model.ask import AskState
from batchdeck.core.model.task import COMPLETED, SETTLED, Status, Task
from batchdeck.core.model.turn import DECIDES_TASK, LIVE, Turn, TurnState


def move_task(
    work: Work, task: Task, status: Status, by: str, *, why: str = "", stop: bool = False
) -> Task:
    """Moves a task from outside of its turns, and lets them follow; the move must be legal.

    `why`: words for what that ends. `stop`: a running turn is ended although it is not done.
    """
    was_done = task.status in COMPLETED
    task = work.set_status(task.id, status, by=by, error=why if status is Status.FAILED else None)
    if was_done:
        refresh_children(work, task)
    asked = open_ask_about(work, task.turn)
    if asked is not None and work.state.turns[asked.turn].state is TurnState.LOST:
        close_ask(work, asked, AskState.CANCELLED, None, by)
    _follow(work, task, by, why, stop)
    finish_batch(work, task.batch)
    return work.state.tasks[task.id]


def _follow(work: Work, task: Task, by: str, why: str, stop: bool) -> None:
    turns = work.state.open_turns(task)
    for turn in turns:
        decides = turn.trigger in DECIDES_TASK
        if turn.state is not TurnState.QUEUED:
            if decides and task.status in COMPLETED:
                supersede(work, turn, by, why)
            elif decides and stop:
                stop_turn(work, turn, by, why)
            elif turn.state in LIVE:
                _move_lane(work, turn.id, task.status)
        elif not decides:
            work.requeue_changed(replace(turn, lane=task.status))
        elif task.status in COMPLETED:
            supersede(work, turn, by, why)
        elif task.status in SETTLED:
            drop_queued(work, turn, why or f"{task.status} by {by}")
        else:
            blocked = keeps_back(task, turn.trigger, work.state)
            work.requeue_changed(replace(turn, lane=task.status, blocked=blocked))
    if task.status in COMPLETED:
        complete_task(work, task)
    elif task.status is Status.FAILED:
        fail_task(work, task, why or f"set to FAILED by {by}")
    elif not any(turn.trigger in DECIDES_TASK for turn in turns):
        _reopen(work, task)


def supersede(work: Work, turn: Turn, by: str, why: str = "") -> None:
    """Ends a turn whose task was completed elsewhere; a running one once its processes have."""
    words = why or f"done elsewhere, says {by}"
    if turn.state in (TurnState.WAITING, TurnState.QUEUED):
        end_waiting(work, turn, TurnState.SUPERSEDED, words)
    else:
        stop_turn(work, turn, by, words)


def _move_lane(work: Work, turn_id: int, lane: Status) -> None:
    """A person's status change while a turn runs moves its lane; it stops nothing."""
    turn = work.state.turns[turn_id]
    work.scheduler.release_slots(turn)
    moved = replace(turn, lane=lane)
    work.scheduler.take(moved)
    work.put_turn(moved)


def _reopen(work: Work, task: Task) -> None:
    reopen_batch(work, work.state.batches[task.batch])
    task = work.state.tasks[task.id]
    if not has_open_turn(work, task):
        begin_task(work, task)
