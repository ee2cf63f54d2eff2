"""Questions in the way of a task: an agent's asks and people's blockers."""

from __future__ import annotations

from batchdeck.core.deck.work import Work
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.blocker import Blocker, BlockerState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.task import Status, Task, may_move
from batchdeck.core.model.turn import DECIDES_TASK, Turn


def open_ask(work: Work, turn: Turn, ask: Ask) -> None:
    """Stores a turn's question; that of a turn which decides its task blocks the task."""
    work.state.next.ask += 1
    work.put_ask(ask, is_open=True)
    if turn.task is not None and turn.trigger in DECIDES_TASK:
        task = work.state.tasks[turn.task]
        if may_move(task.status, Status.BLOCKED):
            task = work.set_status(task.id, Status.BLOCKED)
        if task.status is Status.BLOCKED:
            open_blocker(work, task, ask.question, turn.agent, ask.id)
    work.emit("ask.opened", turn, ask=str(ask.id), question=ask.question, choices=ask.choices)


def close_ask(work: Work, ask: Ask, state: AskState, answer: str | None, by: str) -> None:
    """An ask that needs nobody any more; what it blocked is no longer blocked by it."""
    closed = evolve(
        ask, state=state, answer=answer, answered_ms=work.now_ms, answered_by=by or None
    )
    work.put_ask(closed, is_open=False)
    blocker = next((one for one in work.state.blockers.values() if one.ask == ask.id), None)
    if blocker is not None and blocker.state is BlockerState.OPEN:
        close_blocker(work, blocker, answer, by)


def open_blocker(work: Work, task: Task, question: str, by: str, ask: int | None = None) -> Blocker:
    blocker = Blocker(
        id=work.state.next.blocker,
        task=task.id,
        question=question,
        ask=ask,
        opened_ms=work.now_ms,
        opened_by=by,
    )
    work.state.next.blocker += 1
    work.put_blocker(blocker)
    return blocker


def close_blocker(work: Work, blocker: Blocker, answer: str | None, by: str) -> None:
    """Answered; without an answer it is only out of the way."""
    work.put_blocker(
        evolve(
            blocker,
            state=BlockerState.RESOLVED if answer is None else BlockerState.ANSWERED,
            answer=answer,
            answered_ms=work.now_ms,
            answered_by=by or None,
        )
    )
