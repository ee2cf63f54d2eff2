"""Answers: to what agents ask, and to what blocks tasks."""

from __future__ import annotations

from dataclasses import replace

from batchdeck.core.answer_check import check_choice
from batchdeck.core.commands import AnswerAsk, AnswerBlocker, BlockTask, Receipt
from batchdeck.core.deck.blocking import close_ask, close_blocker, open_blocker
from batchdeck.core.deck.handling.finding import find_task
from batchdeck.core.deck.losing import answer_lost
from batchdeck.core.deck.moving import move_task
from batchdeck.core.deck.permitting import answer_live
from batchdeck.core.deck.tasks import finish_batch
from batchdeck.core.deck.turns import queue_again
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import ILLEGAL_MOVE, Ambiguous, BadInput, NotFound, Refused
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.blocker import Blocker, BlockerState
from batchdeck.core.model.task import Status, Task, may_move
from batchdeck.core.model.turn import DECIDES_TASK, MESSAGE_PRIORITY, Trigger, Turn, TurnState
from batchdeck.core.text import clean_text

MOST_WORDS = 10_000


def block(work: Work, command: BlockTask) -> Receipt:
    """A person's question in the way of a task: it is BLOCKED until that is answered.

    Raises:
        NotFound, Ambiguous: no such task.
        BadInput: nothing is asked.
        Refused: a task with that status cannot be blocked.
    """
    task = find_task(work.state, command.task)
    question = clean_text(command.question).strip()[:MOST_WORDS]
    if not question:
        raise BadInput("Say what the task waits for.")
    if task.status is not Status.BLOCKED and not may_move(task.status, Status.BLOCKED):
        raise Refused(f"{task.key} is {task.status}, and cannot be blocked.", code=ILLEGAL_MOVE)
    blocker = open_blocker(work, task, question, command.by)
    if task.status is not Status.BLOCKED:
        move_task(work, task, Status.BLOCKED, command.by)
    return Receipt(accepted=True, message=f"{task.key} is BLOCKED by blocker {blocker.id}")


def answer_blocker(work: Work, command: AnswerBlocker) -> Receipt:
    """Answers what blocks a task; once nothing is open any more the task is READY.

    Raises:
        NotFound, Ambiguous: no such task, no such blocker, or several are open.
        BadInput: an agent's question wants an answer.
    """
    task = find_task(work.state, command.task)
    blocker = _blocker_of(work, task, command.blocker)
    ask = None if blocker.ask is None else work.state.asks.get(blocker.ask)
    if ask is not None:
        if command.answer is None:
            raise BadInput(f"Blocker {blocker.id} is an agent's question; give an answer.")
        check_choice(ask, command.answer)
        return answer_ask(work, ask, command.answer, command.by)
    close_blocker(work, blocker, command.answer, command.by)
    if work.state.has_open_blocker(task.id):
        left = _numbers(work, task)
        return Receipt(accepted=True, message=f"answered; {task.key} still waits for {left}")
    take_up(work, task, command.by)
    task = work.state.tasks[task.id]
    return Receipt(accepted=True, turn=task.turn, message=f"answered: {task.key} is {task.status}")


def _blocker_of(work: Work, task: Task, number: int | None) -> Blocker:
    opened = [b for b in work.state.blockers_of(task.id) if b.state is BlockerState.OPEN]
    if number is not None:
        opened = [blocker for blocker in opened if blocker.id == number]
    if not opened:
        what = "no open blocker" if number is None else f"no open blocker {number}"
        raise NotFound(f"{task.key} has {what}.")
    if len(opened) > 1:
        raise Ambiguous(
            f"{task.key} waits for several answers; say which with --blocker: "
            f"{_numbers(work, task)}."
        )
    return opened[0]


def _numbers(work: Work, task: Task) -> str:
    opened = [b for b in work.state.blockers_of(task.id) if b.state is BlockerState.OPEN]
    return ", ".join(str(blocker.id) for blocker in opened)


def take_up(work: Work, task: Task, by: str) -> None:
    """Nothing blocks a task any more: READY, and its turn may start.

    A question of its agent that was answered elsewhere is answered with those words.
    """
    asked = next((a for a in work.state.asks.values() if a.turn == task.turn and not a.alive), None)
    answers = [b.answer for b in work.state.blockers_of(task.id) if asked and b.ask == asked.id]
    if asked is not None:
        answer_ask(work, asked, answers[0] if answers and answers[0] else "resolved", by)
    elif task.status is Status.BLOCKED:
        move_task(work, task, Status.READY, by)


def answer(work: Work, command: AnswerAsk) -> Receipt:
    """A person's answer: a new turn at the old place, in the same conversation.

    An agent that still runs is given it, and goes on in the same turn.

    Raises:
        NotFound: no such open ask.
        BadInput: not one of its choices.
    """
    ask = work.state.asks.get(command.ask)
    if ask is None:
        raise NotFound(f"There is no open ask {command.ask}.")
    check_choice(ask, command.answer)
    return answer_ask(work, ask, command.answer, command.by)


def answer_ask(work: Work, ask: Ask, words: str, by: str) -> Receipt:
    """Carries out an answer that fits the question."""
    turn = work.state.turns[ask.turn]
    if ask.alive:
        return answer_live(work, ask, turn, words, by)
    if turn.state is TurnState.LOST:
        return answer_about_lost(work, ask, turn, words, by)
    close_ask(work, ask, AskState.ANSWERED, words, by)
    work.scheduler.vacate(turn)
    work.put_turn(replace(turn, state=TurnState.SUCCEEDED, ended_ms=work.now_ms))
    work.emit("turn.finished", turn, state=TurnState.SUCCEEDED, exit_code=0, lane=turn.lane)
    work.emit("ask.answered", turn, by=by, ask=str(ask.id), answer=words)
    task = None if turn.task is None else work.state.tasks[turn.task]
    decides = task is not None and turn.trigger in DECIDES_TASK
    still_blocked = task is not None and work.state.has_open_blocker(task.id)
    if task is not None and decides and task.status is Status.BLOCKED and not still_blocked:
        task = work.set_status(task.id, Status.READY, by=by)
    if task is not None and decides and work.state.batches[task.batch].stopped_admitting:
        finish_batch(work, task.batch)
        words = f"answered; {task.batch} has failed, and starts nothing more"
        return Receipt(accepted=True, message=words)
    following = queue_again(
        work,
        turn,
        trigger=Trigger.ANSWER if decides or task is None else Trigger.REPLY,
        lane=None if task is None else Status.BLOCKED if decides else task.status,
        priority=MESSAGE_PRIORITY,
        text=words,
    )
    if task is not None and decides:
        work.put_task(replace(work.state.tasks[task.id], turn=following.id))
    return Receipt(accepted=True, turn=following.id, message=f"answered: #{following.id}")


def answer_about_lost(work: Work, ask: Ask, turn: Turn, word: str, by: str) -> Receipt:
    """Carries out a person's word about a lost turn."""
    again = answer_lost(work, ask, turn, word, by)
    if again is None:
        return Receipt(accepted=True, turn=turn.id, message=f"answered: #{turn.id} has failed")
    return Receipt(accepted=True, turn=again.id, message=f"answered: #{again.id}")
