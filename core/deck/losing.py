"""What becomes of a turn whose process was lost: asked, taken up again, or failed."""

from __future__ import annotations

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.deck.blocking import close_ask, open_ask
from batchdeck.core.deck.tasks import fail_task, finish_batch
from batchdeck.core.deck.turns import queue_again
from batchdeck.core.deck.work import Work
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.task import SETTLED, Status, Task
from batchdeck.core.model.turn import DECIDES_TASK, Turn
from batchdeck.core.store import changes as sql

RETRY, FAIL = "retry", "fail"
MOST_INTERRUPTIONS = 3
"""Crashes after which a task is not taken up again without a person's word."""


def decide_lost(work: Work, turn: Turn, outcome: Outcome) -> None:
    """Does with a lost turn what the operator said, or asks. `turn` has ended."""
    task = _decided_by(work, turn)
    if task is not None and task.status in SETTLED:
        return
    stopped = task is not None and work.state.batches[task.batch].stopped_admitting
    if outcome.if_lost == FAIL or stopped:
        _give_up(work, turn, task)
    elif outcome.if_lost == RETRY:
        take_up_again(work, turn)
    else:
        _ask(work, turn)


def _decided_by(work: Work, turn: Turn) -> Task | None:
    if turn.task is None or turn.trigger not in DECIDES_TASK:
        return None
    return work.state.tasks[turn.task]


def _give_up(work: Work, turn: Turn, task: Task | None) -> None:
    if task is not None:
        fail_task(work, task, turn.error or "its process was lost", turn)
        finish_batch(work, task.batch)


def _ask(work: Work, turn: Turn) -> None:
    ask = Ask(
        id=work.state.next.ask,
        turn=turn.id,
        question=f"#{turn.id} was lost ({turn.error or 'its process died'}): retry or fail?",
        choices=(RETRY, FAIL),
        opened_ms=work.now_ms,
    )
    open_ask(work, turn, ask)


def take_up_again(work: Work, turn: Turn) -> Turn:
    """A new turn at the place of a lost one, with the same words."""
    task = None if turn.task is None else work.state.tasks[turn.task]
    decides = _decided_by(work, turn) is not None
    lane = None if task is None else Status.IN_PROGRESS if decides else task.status
    again = queue_again(work, turn, trigger=turn.trigger, lane=lane)
    row_id = work.state.next.message
    work.state.next.message += 1
    work.changes.add(sql.COPY_MESSAGE, (row_id, again.id, work.now_ms, turn.id))
    if task is not None and decides:
        work.put_task(evolve(work.state.tasks[task.id], turn=again.id))
    return again


def answer_lost(work: Work, ask: Ask, turn: Turn, answer: str, by: str) -> Turn | None:
    """Carries out a person's word about a lost turn; the new turn where there is one."""
    close_ask(work, ask, AskState.ANSWERED, answer, by)
    work.emit("ask.answered", turn, by=by, ask=str(ask.id), answer=answer)
    task = _decided_by(work, turn)
    if answer == FAIL:
        _give_up(work, turn, task)
        return None
    if task is not None and task.status is Status.BLOCKED:
        work.set_status(task.id, Status.READY, by=by)
    return take_up_again(work, turn)


def open_ask_about(work: Work, turn_id: int | None) -> Ask | None:
    """The open question about a lost turn."""
    return next((ask for ask in work.state.asks.values() if ask.turn == turn_id), None)
