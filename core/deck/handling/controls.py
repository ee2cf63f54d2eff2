"""Stop, hold, release, drain, retry, answer, and a person's word about a task's status."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from batchdeck.core.commands import (
    AnswerAsk,
    Drain,
    PutHold,
    Receipt,
    ReleaseHold,
    RetryTask,
    SetStatus,
    StopAll,
    StopTurn,
)
from batchdeck.core.deck.handling.finding import find_task, find_turn
from batchdeck.core.deck.losing import RETRY, answer_lost, close_ask, open_ask_about
from batchdeck.core.deck.outcomes import end_waiting, stop_turn
from batchdeck.core.deck.restoring import admits, sync_holds
from batchdeck.core.deck.tasks import (
    begin_task,
    complete_task,
    fail_task,
    finish_batch,
    has_open_turn,
    reopen_batch,
)
from batchdeck.core.deck.turns import drop_queued, put_hold, queue_turn
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BadInput, NotFound, Refused
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.hold import DECK, Hold, read_hold_name
from batchdeck.core.model.task import COMPLETED, SETTLED, Status, Task, may_move
from batchdeck.core.model.turn import (
    DECIDES_TASK,
    LIVE,
    MESSAGE_PRIORITY,
    Trigger,
    Turn,
    TurnState,
)
from batchdeck.core.store import changes as sql


def stop(work: Work, command: StopTurn) -> Receipt:
    """Cancels a queued turn, or has a running one ended; the writer answers when it has ended."""
    turn = find_turn(work.state, command.turn)
    if turn.ended_ms is not None:
        return Receipt(
            accepted=False,
            error="gone",
            exit_code=1,
            turn=turn.id,
            state=turn.state,
            message=f"#{turn.id} has already {turn.state}.",
        )
    if command.only_queued and turn.state is not TurnState.QUEUED:
        raise Refused(f"#{turn.id} is {turn.state} already.", code="gone")
    turn = stop_turn(work, turn, command.by)
    return Receipt(
        accepted=True, turn=turn.id, state=turn.state, message=f"#{turn.id} {turn.state}"
    )


def stop_all(work: Work, command: StopAll) -> Receipt:
    """Ends everything that runs; nothing new starts."""
    _hold_deck(work, command.by, "everything was stopped")
    live = [work.state.turns[turn] for turn in work.state.live]
    for turn in live:
        stop_turn(work, turn, command.by)
    return Receipt(accepted=True, message=f"{len(live)} turns are being stopped")


def _hold_deck(work: Work, by: str, reason: str) -> None:
    put_hold(work, Hold(what=DECK, by=by, reason=reason, at_ms=work.now_ms))
    sync_holds(work.scheduler, work.view)


def hold(work: Work, command: PutHold, folder: Folder | None) -> Receipt:
    """Stops admissions for what is named. `folder`: its identity where it is one.

    Raises:
        BadInput: not a thing that can be held.
        NotFound: no such agent, batch or turn.
    """
    kind, name = read_hold_name(command.what)
    if kind == DECK:
        _hold_deck(work, command.by, command.reason)
        return Receipt(accepted=True, message="the deck is held")
    if kind == "turn":
        return _hold_turn(work, int(name), command.by)
    _check_known(work, kind, name)
    what = f"{kind}:{name}" if folder is None else f"folder:{folder.key}"
    put_hold(work, Hold(what=what, by=command.by, reason=command.reason, at_ms=work.now_ms))
    return Receipt(accepted=True, message=f"{kind} {name} is held")


def _check_known(work: Work, kind: str, name: str) -> None:
    if kind == "folder":
        return
    known: Collection[str] = work.state.agents if kind == "agent" else work.state.batches
    if name not in known:
        options = ", ".join(sorted(known)) or "none"
        raise NotFound(f"There is no {kind} {name!r}. There are: {options}.")


def _hold_turn(work: Work, turn_id: int, by: str) -> Receipt:
    turn = find_turn(work.state, turn_id)
    if turn.state is not TurnState.QUEUED:
        raise Refused(f"#{turn.id} is {turn.state}; only a queued turn can be held.", code="gone")
    held = replace(turn, held_by=by)
    work.put_turn(held)
    work.refresh(held)
    work.emit("hold", held, by=by, what=f"turn:{turn.id}")
    return Receipt(accepted=True, turn=turn.id, message=f"#{turn.id} is held")


def release(work: Work, command: ReleaseHold, folder: Folder | None) -> Receipt:
    """Takes a hold away; a turn is authorised by it too. `folder`: its identity where it is one.

    Raises:
        NotFound: it is not held.
    """
    kind, name = read_hold_name(command.what)
    if kind == "turn":
        return _release_turn(work, int(name), command.by)
    if folder is not None:
        _release_folder(work, name, folder, command.by)
    else:
        _drop_hold(work, DECK if kind == DECK else f"{kind}:{name}", command.by)
    if kind == DECK:
        work.state.banner = None
    elif folder is None:
        work.scheduler.set_closed(command.what, False)
    sync_holds(work.scheduler, work.view)
    return Receipt(accepted=True, message=f"{command.what or 'the deck'} is released")


def _drop_hold(work: Work, what: str, by: str) -> None:
    if what not in work.state.holds:
        raise NotFound(f"{'the deck' if what == DECK else what} is not held.")
    del work.state.holds[what]
    work.state.touch("holds")
    work.changes.add(sql.DROP_HOLD, (what,))
    work.emit("release", by=by, what=what)


def _release_folder(work: Work, name: str, folder: Folder, by: str) -> None:
    """A folder that was missing, or another one, when it was held has another identity now."""
    queued = [
        turn
        for turn in work.state.turns.values()
        if turn.state is TurnState.QUEUED and turn.folder and turn.folder.path == folder.path
    ]
    keys = {folder.key, name, *(turn.folder.key for turn in queued if turn.folder)}
    held = sorted(key for key in keys if f"folder:{key}" in work.state.holds)
    if not held:
        raise NotFound(f"folder:{name} is not held.")
    for key in held:
        _drop_hold(work, f"folder:{key}", by)
        work.scheduler.release_folder(key)
    work.know_folder(folder)
    for turn in queued:
        if turn.folder != folder:
            work.requeue_changed(replace(turn, folder=folder))


def _release_turn(work: Work, turn_id: int, by: str) -> Receipt:
    turn = find_turn(work.state, turn_id)
    if turn.held_by is None and turn.authorised:
        raise NotFound(f"#{turn.id} is not held.")
    released = replace(turn, held_by=None, authorised=True)
    work.put_turn(released)
    work.refresh(released)
    work.emit("release", released, by=by, what=f"turn:{turn.id}")
    return Receipt(accepted=True, turn=turn.id, message=f"#{turn.id} is released")


def drain(work: Work, command: Drain) -> Receipt:
    """Admits nothing new, or admits again."""
    if work.state.draining != command.on:
        work.state.draining = command.on
        work.keep_fact("draining", "1" if command.on else "0")
        sync_holds(work.scheduler, work.view)
        work.emit("hold" if command.on else "release", by=command.by, what="drain")
    words = "draining: nothing new starts" if command.on else "admitting again"
    return Receipt(accepted=True, message=words)


def retry(work: Work, command: RetryTask) -> Receipt:
    """A new turn for a task that has failed or was stopped; counting starts anew.

    Raises:
        NotFound, Ambiguous: no such task.
        Refused: it is not failed, or a turn of it has not ended.
    """
    task = find_task(work.state, command.task)
    latest = None if task.turn is None else work.state.turns.get(task.turn)
    if latest is not None and latest.held_by is not None and latest.state is TurnState.QUEUED:
        return _release_turn(work, latest.id, command.by)
    if latest is not None and latest.ended_ms is None:
        raise Refused(f"{task.key} has a turn already: #{latest.id} is {latest.state}.")
    asked = open_ask_about(work, task.turn)
    if asked is not None and latest is not None and latest.state is TurnState.LOST:
        return _answer_lost(work, asked, latest, RETRY, command.by)
    if task.status is not Status.FAILED:
        raise Refused(f"{task.key} is {task.status}; only a failed task can be retried.")
    reopen_batch(work, work.state.batches[task.batch], command.by)
    task = replace(task, attempts=0)
    work.put_task(task)
    turn = begin_task(work, task, trigger=Trigger.RETRY, lane=Status.FAILED)
    return Receipt(accepted=True, turn=turn.id, message=f"{task.key}: #{turn.id} {turn.state}")


def set_task_status(work: Work, command: SetStatus) -> Receipt:
    """A person's word: any legal move; done elsewhere ends what runs.

    Raises:
        NotFound, Ambiguous: no such task.
        Refused: not a legal move.
    """
    task = find_task(work.state, command.task)
    if task.status is command.status:
        return Receipt(accepted=True, message=f"{task.key} is {task.status} already")
    if not may_move(task.status, command.status):
        raise Refused(f"{task.key} cannot go from {task.status} to {command.status}.")
    task = work.set_status(task.id, command.status, by=command.by)
    asked = open_ask_about(work, task.turn)
    if asked is not None and work.state.turns[asked.turn].state is TurnState.LOST:
        close_ask(work, asked, AskState.CANCELLED, None, command.by)
    _follow_status(work, task, command.by)
    finish_batch(work, task.batch)
    return Receipt(accepted=True, message=f"{task.key} is {task.status}")


def _follow_status(work: Work, task: Task, by: str) -> None:
    members = work.state.sequences.get(f"conversation:{task.conversation}", ())
    turns = [work.state.turns[member] for member in members]
    for turn in turns:
        decides = turn.trigger in DECIDES_TASK
        if turn.state is not TurnState.QUEUED:
            if decides and task.status in COMPLETED:
                _supersede(work, turn.id, by)
            elif turn.state in LIVE:
                _move_lane(work, turn.id, task.status)
        elif not decides:
            work.requeue_changed(replace(turn, lane=task.status))
        elif task.status in SETTLED:
            drop_queued(work, turn, f"{task.status} by {by}")
        else:
            blocked = not admits(task, turn.trigger)
            work.requeue_changed(replace(turn, lane=task.status, blocked=blocked))
    if task.status in COMPLETED:
        complete_task(work, task)
    elif task.status is Status.FAILED:
        fail_task(work, task, f"set to FAILED by {by}")
    elif not any(turn.trigger in DECIDES_TASK for turn in turns):
        _reopen(work, task)


def _supersede(work: Work, turn_id: int, by: str) -> None:
    turn = work.state.turns[turn_id]
    if turn.state is TurnState.WAITING:
        end_waiting(work, turn, TurnState.SUPERSEDED, f"done elsewhere, says {by}")
    else:
        stop_turn(work, turn, by)


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


def _answer_lost(work: Work, ask: Ask, turn: Turn, word: str, by: str) -> Receipt:
    again = answer_lost(work, ask, turn, word, by)
    if again is None:
        return Receipt(accepted=True, turn=turn.id, message=f"answered: #{turn.id} has failed")
    return Receipt(accepted=True, turn=again.id, message=f"answered: #{again.id}")


def answer(work: Work, command: AnswerAsk) -> Receipt:
    """A person's answer: a new turn at the old place, in the same conversation.

    Raises:
        NotFound: no such open ask.
        BadInput: not one of the choices.
    """
    ask = work.state.asks.get(command.ask)
    if ask is None:
        raise NotFound(f"There is no open ask {command.ask}.")
    if ask.choices and command.answer not in ask.choices:
        raise BadInput(f"The answer must be one of: {', '.join(ask.choices)}.")
    turn = work.state.turns[ask.turn]
    if turn.state is TurnState.LOST:
        return _answer_lost(work, ask, turn, command.answer, command.by)
    closed = replace(
        ask,
        state=AskState.ANSWERED,
        answer=command.answer,
        answered_ms=work.now_ms,
        answered_by=command.by,
    )
    work.put_ask(closed, is_open=False)
    work.scheduler.vacate(turn)
    work.put_turn(replace(turn, state=TurnState.SUCCEEDED, ended_ms=work.now_ms))
    work.emit("turn.finished", turn, state=TurnState.SUCCEEDED, exit_code=0, lane=turn.lane)
    work.emit("ask.answered", turn, by=command.by, ask=str(ask.id), answer=command.answer)
    task = None if turn.task is None else work.state.tasks[turn.task]
    decides = task is not None and turn.trigger in DECIDES_TASK
    if task is not None and decides and task.status is Status.BLOCKED:
        task = work.set_status(task.id, Status.READY, by=command.by)
    following = queue_turn(
        work,
        agent=turn.agent,
        conversation=turn.conversation,
        trigger=Trigger.ANSWER if decides or task is None else Trigger.REPLY,
        title=turn.title,
        task=task,
        lane=None if task is None else Status.BLOCKED if decides else task.status,
        folder=turn.folder,
        target=turn.target,
        priority=MESSAGE_PRIORITY,
        position=turn.position,
        text=command.answer,
    )
    if task is not None:
        work.put_task(replace(work.state.tasks[task.id], turn=following.id))
    sync_holds(work.scheduler, work.view)
    return Receipt(accepted=True, turn=following.id, message=f"answered: #{following.id}")
