"""A turn on its way in: queued, claimed, started, put back, dropped."""

from __future__ import annotations

from typing import Any

from batchdeck.core.deck.conversing import add_message
from batchdeck.core.deck.cooling import note_attempt
from batchdeck.core.deck.restoring import keeps_back
from batchdeck.core.deck.work import Work
from batchdeck.core.model.conversation import Role
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.line import lines_of
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import DECIDES_TASK, Trigger, Turn, TurnState
from batchdeck.core.store import changes as sql


def queue_turn(
    work: Work,
    *,
    agent: str,
    conversation: int,
    trigger: Trigger,
    title: str,
    task: Task | None = None,
    lane: Status | None = None,
    folder: Folder | None = None,
    target: str | None = None,
    priority: int = 0,
    position: int | None = None,
    not_before_ms: int = 0,
    held_by: str | None = None,
    authorised: bool = True,
    text: str | None = None,
) -> Turn:
    """Inserts a turn; `text` is the operator's message where it is not the task's prompt."""
    state = work.state
    row_id = state.next.turn
    state.next.turn += 1
    if folder is not None:
        work.know_folder(folder)
    decides = task is not None and trigger in DECIDES_TASK
    turn = Turn(
        id=row_id,
        agent=agent,
        conversation=conversation,
        trigger=trigger,
        position=row_id if position is None else position,
        priority=priority,
        task=None if task is None else task.id,
        batch=None if task is None else task.batch,
        target=target,
        folder=folder,
        lane=lane,
        not_before_ms=not_before_ms,
        held_by=held_by,
        authorised=authorised,
        depends_on=state.open_dependencies(task.depends_on) if task and decides else (),
        blocked=bool(task and decides and keeps_back(task, trigger, state)),
        attempts=task.attempts if task and decides else 0,
        queued_ms=work.now_ms,
        title=title,
    )
    work.put_turn(turn)
    if text is not None:
        add_message(work, turn, Role.OPERATOR, text)
    work.emit("turn.queued", turn, trigger=trigger, position=turn.position)
    work.refresh(turn.id)
    if position is not None:
        step_behind(work, turn)
    return turn


def queue_again(
    work: Work,
    turn: Turn,
    *,
    trigger: Trigger,
    lane: Status | None,
    priority: int | None = None,
    not_before_ms: int = 0,
    held_by: str | None = None,
    text: str | None = None,
) -> Turn:
    """Queues another turn in the place of one that is over: its conversation, folder and target."""
    return queue_turn(
        work,
        agent=turn.agent,
        conversation=turn.conversation,
        trigger=trigger,
        title=turn.title,
        task=None if turn.task is None else work.state.tasks[turn.task],
        lane=lane,
        folder=turn.folder,
        target=turn.target,
        priority=turn.priority if priority is None else priority,
        position=turn.position,
        not_before_ms=not_before_ms,
        held_by=held_by,
        text=text,
    )


def queue_for(
    work: Work,
    task: Task,
    *,
    trigger: Trigger = Trigger.TASK,
    lane: Status,
    folder: Folder | None,
    position: int | None,
    held_by: str | None = None,
    text: str | None = None,
) -> Turn:
    """Queues a turn of a task as the task is now; the task does not know of it yet."""
    return queue_turn(
        work,
        agent=task.agent,
        conversation=work.state.conversation_of(task),
        trigger=trigger,
        title=task.title,
        task=task,
        lane=lane,
        folder=folder,
        target=task.target,
        priority=task.priority,
        position=position,
        held_by=held_by,
        text=text,
    )


def step_behind(work: Work, turn: Turn) -> None:
    """Of its target and conversation, the turn that is first is in the scheduler, and no other."""
    for line in lines_of(turn):
        for member in work.state.lines.members(line)[:2]:
            other = work.state.turns[member]
            if other.id != turn.id and other.state is TurnState.QUEUED:
                work.refresh(other.id)


def claim(work: Work, turn: Turn, forced: tuple[str, ...] = (), by: str | None = None) -> Turn:
    """Claims a turn whose slots are taken, and moves its task to IN_PROGRESS."""
    running = work.claim(turn, forced, by)
    if work.state.cooldowns:
        note_attempt(work, running)
    if turn.task is not None and turn.trigger in DECIDES_TASK:
        work.set_status(turn.task, Status.IN_PROGRESS, turn=turn.id)
    return running


def started(work: Work, turn: Turn, attempt: str, process: int | None) -> None:
    """The agent of a claimed turn really works."""
    if turn.attempt != attempt:
        return
    work.started[attempt] = work.now_ms
    work.emit("turn.started", turn, attempt=attempt, pid=process)


def requeue(work: Work, turn: Turn, *, lane: Status | None = None) -> Turn:
    """Puts a turn that was claimed, and proved not to run, back to its old place.

    The attempt does not count: the next one has its number.
    """
    work.scheduler.release(turn)
    queued = evolve(
        turn,
        state=TurnState.QUEUED,
        attempts=max(turn.attempts - 1, 0),
        forced=(),
        forced_by=None,
        started_ms=None,
        lane=turn.lane if lane is None else lane,
    )
    if turn.task is not None and turn.trigger in DECIDES_TASK:
        task = work.state.tasks[turn.task]
        if task.status is Status.IN_PROGRESS:
            # one that was BLOCKED had been answered, and was READY when it was claimed
            back_to = Status.READY if queued.lane is Status.BLOCKED else queued.lane
            work.set_status(task.id, back_to or Status.READY)
        # somebody may have blocked the task while it ran
        back = keeps_back(work.state.tasks[task.id], turn.trigger, work.state)
        queued = evolve(queued, blocked=back)
    work.put_turn(queued)
    work.refresh(queued.id)
    refresh_next(work, queued)
    return queued


def drop_queued(work: Work, turn: Turn, error: str) -> None:
    """Cancels a queued turn whose task is already decided."""
    final = evolve(turn, state=TurnState.CANCELLED, ended_ms=work.now_ms, error=error)
    work.put_turn(final)
    work.emit("turn.finished", final, state=final.state, exit_code=None, lane=final.lane)
    refresh_next(work, final)


def refresh_next(work: Work, turn: Turn) -> None:
    """Lets the scheduler know the turns that `turn`, now ended or put back, stood in the way of."""
    for following in work.state.lines.behind(turn):
        if following.state is TurnState.QUEUED:
            work.refresh(following.id)


def put_hold(work: Work, hold: Hold) -> None:
    """Stops admissions for what the hold names (`deck`, `agent:`, `batch:`, `folder:KEY`)."""
    work.state.holds[hold.what] = hold
    work.state.touch("holds")
    work.changes.add(sql.SAVE_HOLD, (hold.what, hold.by, hold.reason, hold.at_ms))
    work.emit("hold", by=hold.by, what=hold.named, reason=hold.reason, **key_of(hold))


def key_of(hold: Hold) -> dict[str, Any]:
    """Under what a folder is held, for those who follow events; of all others it is the name."""
    return {} if hold.path is None else {"key": hold.what}
