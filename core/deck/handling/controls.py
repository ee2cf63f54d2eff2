"""Stop, hold, release, drain, retry, answer, and a person's word about a task's status."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from batchdeck.core.commands import (
    Drain,
    PutHold,
    Receipt,
    ReleaseHold,
    RetryTask,
    SetStatus,
    StopAll,
    StopTurn,
)
from batchdeck.core.deck.cooling import end_cooldown
from batchdeck.core.deck.handling.answers import answer_about_lost
from batchdeck.core.deck.handling.finding import find_task, find_turn, need_agent
from batchdeck.core.deck.handling.foreaches import refuse_barrier, refuse_committed
from batchdeck.core.deck.losing import RETRY, open_ask_about
from batchdeck.core.deck.moving import move_task
from batchdeck.core.deck.outcomes import stop_turn
from batchdeck.core.deck.spending import allow_more
from batchdeck.core.deck.tasks import (
    begin_task,
    bring_children_back,
    reopen_batch,
)
from batchdeck.core.deck.turns import key_of, put_hold
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import ILLEGAL_MOVE, BadInput, NotFound, Refused
from batchdeck.core.model.account import account_of
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.hold import DECK, END_DRAIN, UNSAVED, Hold, is_for_editing, read_hold_name
from batchdeck.core.model.task import ADMISSIBLE, Because, Status, Task, may_move
from batchdeck.core.model.turn import (
    Trigger,
    TurnState,
)
from batchdeck.core.store import changes as sql
from batchdeck.core.text import counted


def stop(work: Work, command: StopTurn) -> Receipt:
    """Cancels a queued turn, or has a running one ended; the writer answers when it has ended.

    Raises:
        NotFound: no such turn.
        Refused: it has ended, or is no longer queued where only that is meant.
    """
    turn = find_turn(work.state, command.turn)
    if turn.ended_ms is not None:
        raise Refused(f"#{turn.id} has ended already: {turn.state}.", code="gone")
    if command.only_queued and turn.state is not TurnState.QUEUED:
        raise Refused(f"#{turn.id} is {turn.state} already.", code="gone")
    turn = stop_turn(work, turn, command.by, for_good=command.for_good)
    return Receipt(
        accepted=True, turn=turn.id, state=turn.state, message=f"#{turn.id} {turn.state}"
    )


def stop_all(work: Work, command: StopAll) -> Receipt:
    """Ends everything that runs; nothing new starts."""
    _put(work, Hold(DECK, command.by, "everything was stopped", work.now_ms), "the deck")
    live = [work.state.turns[turn] for turn in work.state.live]
    for turn in live:
        stop_turn(work, turn, command.by)
    words = counted(len(live), "turn is", "turns are")
    return Receipt(accepted=True, message=f"{words} being stopped")


def hold(work: Work, command: PutHold, folder: Folder | None) -> Receipt:
    """Stops admissions for what is named. `folder`: its identity where it is one.

    Raises:
        BadInput: not a thing that can be held.
        NotFound: no such agent, account, batch or turn.
    """
    kind, name = read_hold_name(command.what)
    if kind == "budget":
        raise BadInput(f"A budget cannot be held. batchdeck hold batch:{name} holds its batch.")
    if kind == DECK:
        return _put(work, Hold(DECK, command.by, command.reason, work.now_ms), "the deck")
    if kind == "turn":
        return _hold_turn(work, int(name), command.by)
    _check_known(work, kind, name)
    held = Hold(f"{kind}:{name}", command.by, command.reason, work.now_ms)
    if folder is not None:
        work.know_folder(folder)
        held = replace(held, what=f"folder:{folder.key}", path=folder.path)
    return _put(work, held, f"{kind} {name}")


def _put(work: Work, hold: Hold, name: str) -> Receipt:
    """A hold; one that is there already, by the same person for the same reason, is no news."""
    known = work.state.holds.get(hold.what)
    if known is not None and (known.by, known.reason) == (hold.by, hold.reason):
        return Receipt(accepted=True, message=f"{name} is held already")
    put_hold(work, hold)
    return Receipt(accepted=True, message=f"{name} is held")


def _check_known(work: Work, kind: str, name: str) -> None:
    if kind == "folder":
        return
    known: Collection[str] = work.state.agents if kind == "agent" else work.state.batches
    if kind == "account":
        known = {account_of(agent) for agent in work.state.agents.values()}
    if name not in known:
        options = ", ".join(sorted(known)) or "none"
        raise NotFound(f"There is no {kind} {name!r}. There are: {options}.")


def _hold_turn(work: Work, turn_id: int, by: str) -> Receipt:
    turn = find_turn(work.state, turn_id)
    if turn.state is not TurnState.QUEUED:
        raise Refused(f"#{turn.id} is {turn.state}; only a queued turn can be held.", code="gone")
    if turn.held_by not in (None, UNSAVED) and not is_for_editing(turn.held_by):
        words = f"#{turn.id} is held by {turn.held_by} already"
        return Receipt(accepted=True, turn=turn.id, state=turn.state, message=words)
    held = replace(turn, held_by=by)
    work.put_turn(held)
    work.refresh(held.id)
    work.emit("hold", held, by=by, what=f"turn:{turn.id}")
    words = f"#{turn.id} is held"
    return Receipt(accepted=True, turn=turn.id, state=held.state, message=words)


def release(work: Work, command: ReleaseHold, folder: Folder | None) -> Receipt:
    """Takes a hold away; a turn is authorised by it too. `folder`: its identity where it is one.

    An account that is not held but cools down may be used again at once; a batch may use its budget
    once more.

    Raises:
        NotFound: it is not held.
    """
    kind, name = read_hold_name(command.what)
    if kind == "turn":
        return _release_turn(work, int(name), command.by)
    if folder is not None:
        _release_folder(work, name, folder, command.by)
    elif kind == "budget":
        return allow_more(work, name, command.by)
    elif kind == "account" and command.what not in work.state.holds:
        return _end_cooldown(work, name, command.by)
    else:
        _drop_hold(work, DECK if kind == DECK else f"{kind}:{name}", command.by)
    words = f"{command.what or 'the deck'} is released"
    if kind == DECK:
        work.state.banner = None
    if work.state.draining:
        words += f"; the deck still drains: {END_DRAIN} lets it admit again"
    return Receipt(accepted=True, message=words)


def _end_cooldown(work: Work, account: str, by: str) -> Receipt:
    if account not in work.state.cooldowns:
        raise NotFound(f"account:{account} is not held and does not cool down.")
    end_cooldown(work, account, by)
    return Receipt(accepted=True, message=f"account {account} may be used again")


def _drop_hold(work: Work, what: str, by: str) -> None:
    if what not in work.state.holds:
        raise NotFound(_words_of_no_hold(work, what))
    hold = work.state.holds.pop(what)
    work.state.touch("holds")
    work.changes.take_back(sql.SAVE_HOLD, what)
    work.changes.add(sql.DROP_HOLD, (what,))
    work.emit("release", by=by, what=hold.named, **key_of(hold))


def _words_of_no_hold(work: Work, what: str) -> str:
    if what != DECK:
        return f"{what} is not held."
    if work.state.draining:
        return f"The deck is not held, it drains. {END_DRAIN} lets it admit again."
    return "the deck is not held."


def _release_folder(work: Work, name: str, folder: Folder, by: str) -> None:
    """A folder that was missing, or another one, when it was held has another identity now."""
    queued = [
        turn
        for turn in work.state.turns.values()
        if turn.state is TurnState.QUEUED and turn.folder and turn.folder.path == folder.path
    ]
    keys = {folder.key, name, *(turn.folder.key for turn in queued if turn.folder)}
    keys |= {
        hold.what.removeprefix("folder:")
        for hold in work.state.holds.values()
        if hold.path == folder.path
    }
    held = sorted(key for key in keys if f"folder:{key}" in work.state.holds)
    if not held:
        raise NotFound(f"folder:{name} is not held.")
    for key in held:
        _drop_hold(work, f"folder:{key}", by)
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
    work.refresh(released.id)
    work.emit("release", released, by=by, what=f"turn:{turn.id}")
    words = f"#{turn.id} is released"
    return Receipt(accepted=True, turn=turn.id, state=released.state, message=words)


def drain(work: Work, command: Drain) -> Receipt:
    """Admits nothing new, or admits again."""
    if work.state.draining != command.on:
        work.state.draining = command.on
        work.keep_fact("draining", "1" if command.on else "0")
        work.emit("hold" if command.on else "release", by=command.by, what="drain")
    words = "draining: nothing new starts" if command.on else "admitting again"
    return Receipt(accepted=True, message=words)


def retry(work: Work, command: RetryTask) -> Receipt:
    """A new turn for a task that has failed or was stopped; counting starts anew.

    Raises:
        NotFound, Ambiguous: no such task, or its agent was removed.
        Refused: it is not failed, or a turn of it has not ended.
    """
    task = find_task(work.state, command.task)
    refuse_barrier(task)
    refuse_committed(work, task)
    latest = None if task.turn is None else work.state.turns.get(task.turn)
    if latest is not None and latest.held_by is not None and latest.state is TurnState.QUEUED:
        if command.held:
            return _hold_turn(work, latest.id, command.by)
        return _release_turn(work, latest.id, command.by)
    if latest is not None and latest.ended_ms is None:
        raise Refused(f"{task.key} has a turn already: #{latest.id} is {latest.state}.")
    asked = open_ask_about(work, task.turn)
    if asked is not None and latest is not None and latest.state is TurnState.LOST:
        return answer_about_lost(work, asked, latest, RETRY, command.by)
    if task.status is not Status.FAILED:
        raise Refused(
            f"{task.key} is {task.status}; only a failed task can be retried.", code=ILLEGAL_MOVE
        )
    _refuse_what_cannot_start(work, task)
    if command.status is not None and task.because is Because.CANCELLED:
        return _take_cancel_back(work, task, command.status, command)
    reopen_batch(work, work.state.batches[task.batch], command.by)
    task = replace(task, attempts=0)
    work.put_task(task)
    held_by = command.by if command.held else None
    turn = begin_task(work, task, trigger=Trigger.RETRY, lane=Status.FAILED, held_by=held_by)
    return Receipt(accepted=True, turn=turn.id, message=f"{task.key}: #{turn.id} {turn.state}")


def _take_cancel_back(work: Work, task: Task, status: Status, command: RetryTask) -> Receipt:
    """The task is what it was before it was cancelled in the queue, and so are its dependants."""
    reopen_batch(work, work.state.batches[task.batch], command.by)
    task = work.set_status(task.id, status, by=command.by)
    trigger = Trigger.RETRY if status is Status.FAILED else Trigger.TASK
    held_by = command.by if command.held else None
    turn = begin_task(work, task, trigger=trigger, held_by=held_by)
    bring_children_back(work, task)
    return Receipt(
        accepted=True, turn=turn.id, state=turn.state, message=f"{task.key}: #{turn.id} {status}"
    )


def _refuse_what_cannot_start(work: Work, task: Task) -> None:
    need_agent(work.state, task.agent)
    needed = [work.state.tasks[parent] for parent in task.depends_on]
    failed = [parent.key for parent in needed if parent.status is Status.FAILED]
    if failed:
        raise Refused(
            f"{task.key} needs {' and '.join(failed)}, which failed. Retry that; "
            f"{task.key} follows by itself."
        )


def set_task_status(work: Work, command: SetStatus) -> Receipt:
    """A person's word: any legal move; done elsewhere ends what runs.

    Raises:
        NotFound, Ambiguous: no such task, or its agent was removed.
        Refused: not a legal move.
    """
    task = find_task(work.state, command.task)
    refuse_barrier(task)
    refuse_committed(work, task)
    if task.status is command.status:
        return Receipt(accepted=True, message=f"{task.key} is {task.status} already")
    if not may_move(task.status, command.status):
        raise Refused(
            f"{task.key} cannot go from {task.status} to {command.status}.", code=ILLEGAL_MOVE
        )
    if command.status in ADMISSIBLE:
        need_agent(work.state, task.agent)
    task = move_task(work, task, command.status, command.by)
    return Receipt(accepted=True, message=f"{task.key} is {task.status}")
