"""How attempts end, and what that does to their turns."""

from __future__ import annotations

from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.deck.blocking import open_ask
from batchdeck.core.deck.conversing import add_message, keep_session
from batchdeck.core.deck.cooling import MOST_REFUSALS, cool_down, note_end
from batchdeck.core.deck.losing import decide_lost
from batchdeck.core.deck.permitting import close_live
from batchdeck.core.deck.spending import spend, with_own_cost
from batchdeck.core.deck.stepping import take_answer
from batchdeck.core.deck.tasks import decide_task, leave_unstarted
from batchdeck.core.deck.turns import put_hold, refresh_next, requeue
from batchdeck.core.deck.work import Work
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.conversation import Role
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.hold import OURSELVES, Hold
from batchdeck.core.model.task import COMPLETED, Because
from batchdeck.core.model.turn import DECIDES_TASK, Turn, TurnState
from batchdeck.core.store import changes as sql

_NO_END = frozenset({TurnState.LOST, TurnState.QUEUED, TurnState.WAITING})
"""What a turn that is being stopped does not come to: it is over."""
SOMEBODY = "operator"
"""Who stopped what no recorded command stopped."""
_STOPPED = frozenset({TurnState.CANCELLED, TurnState.SUPERSEDED})


def ended(work: Work, turn_id: int, attempt: str, outcome: Outcome) -> None:
    """An attempt has ended: late news of an older attempt, or of an ended turn, change nothing."""
    turn = work.state.turns.get(turn_id)
    if turn is None or turn.attempt != attempt or turn.ended_ms is not None:
        return
    close_live(work, turn)
    outcome = with_own_cost(work, turn, outcome)
    _record_attempt(work, turn, attempt, outcome)
    if outcome.session is not None:
        keep_session(work, turn.conversation, outcome.session, outcome.session_cost)
    if turn.state is TurnState.STOPPING and outcome.state in _NO_END:
        outcome = evolve(outcome, state=TurnState.CANCELLED)  # it is gone, as it was meant to be
    note_end(work, turn, outcome)
    if outcome.limited is not None and turn.state is TurnState.RUNNING:
        if cool_down(work, turn, outcome.limited):
            _put_back(work, turn)
            return
        outcome = _refused_for_good(outcome, outcome.limited)
    if outcome.surroundings is not None and turn.state is TurnState.RUNNING:
        _hold_surroundings(work, turn, outcome)
        return
    if outcome.state is TurnState.QUEUED:
        _put_back(work, turn)
        return
    if outcome.state is TurnState.WAITING and outcome.question is not None:
        _wait_for_answer(work, turn, outcome)
        return
    final = finish(work, turn, take_answer(work, turn, outcome))
    if final.state is TurnState.LOST:
        decide_lost(work, final, outcome)


def _record_attempt(work: Work, turn: Turn, attempt: str, outcome: Outcome) -> None:
    row = (
        work.started.pop(attempt, None),
        work.now_ms,
        str(outcome.end),
        outcome.exit_code,
        outcome.leftovers,
        outcome.error,
        outcome.tokens_in,
        outcome.tokens_out,
        outcome.cost,
        attempt,
    )
    work.changes.add(sql.END_ATTEMPT, row)
    spend(work, turn, outcome)
    fields: dict[str, Any] = {"leftovers": outcome.leftovers} if outcome.leftovers else {}
    if outcome.limited is not None and turn.state is TurnState.RUNNING:
        fields["limited"] = True
    if None not in (outcome.tokens_in, outcome.tokens_out):
        fields |= {"tokens_in": outcome.tokens_in, "tokens_out": outcome.tokens_out}
    if outcome.cost is not None:
        fields["cost"] = outcome.cost
    work.emit(
        "attempt.ended",
        turn,
        attempt=attempt,
        end=outcome.end,
        exit_code=outcome.exit_code,
        **fields,
    )


def _put_back(work: Work, turn: Turn) -> None:
    """Queued again at its old place, unless its batch has failed meanwhile."""
    leave_unstarted(work, requeue(work, turn))


def _refused_for_good(outcome: Outcome, limit: UsageLimit) -> Outcome:
    words = f"refused {MOST_REFUSALS} times in a row: {outcome.error or limit.words}"
    return evolve(outcome, state=TurnState.FAILED, limited=None, error=words)


def _hold_surroundings(work: Work, turn: Turn, outcome: Outcome) -> None:
    """A failure of the surroundings ends nothing: the agent or the folder is held, with why."""
    reason = outcome.error or "it could not be started"
    hold = Hold(f"agent:{turn.agent}", OURSELVES, reason, work.now_ms)
    if outcome.surroundings == "folder" and turn.folder is not None:
        hold = evolve(hold, what=f"folder:{turn.folder.key}", path=turn.folder.path)
    _put_back(work, turn)
    if hold.what not in work.state.holds:
        put_hold(work, hold)


def _wait_for_answer(work: Work, turn: Turn, outcome: Outcome) -> None:
    """The process is gone and has left a question: the slots are free, the folder is not."""
    question = outcome.question
    assert question is not None
    work.scheduler.release_slots(turn)
    waiting = evolve(turn, state=TurnState.WAITING, exit_code=outcome.exit_code)
    work.put_turn(waiting)
    if outcome.text:
        add_message(work, turn, Role.AGENT, outcome.text)
    ask = Ask(
        id=work.state.next.ask,
        turn=turn.id,
        question=question.question,
        choices=question.choices,
        schema=question.schema,
        default=question.default,
        opened_ms=work.now_ms,
    )
    open_ask(work, waiting, ask)


def finish(work: Work, turn: Turn, outcome: Outcome) -> Turn:
    """A live turn comes to its end, for good.

    What was completed elsewhere wins over the worker's later verdict.
    """
    work.scheduler.release(turn)
    if outcome.state is not TurnState.SUCCEEDED and _done_elsewhere(work, turn):
        outcome = evolve(outcome, state=TurnState.SUPERSEDED)
    final = evolve(
        turn,
        state=outcome.state,
        ended_ms=work.now_ms,
        exit_code=outcome.exit_code,
        error=turn.error if turn.error and outcome.state in _STOPPED else outcome.error,
        stopped_by=_stopper(turn, outcome),
    )
    work.put_turn(final)
    if outcome.text:
        add_message(work, final, Role.AGENT, outcome.text)
    _after_end(work, final)
    return final


def _stopper(turn: Turn, outcome: Outcome) -> str | None:
    """The person who ended it.

    A stop that could not be recorded, for the file was locked, was a person's all the same: what it
    ended must not start again by itself.
    """
    unrecorded = outcome.state is TurnState.CANCELLED and turn.state is TurnState.RUNNING
    return SOMEBODY if unrecorded else turn.stopped_by


def _done_elsewhere(work: Work, turn: Turn) -> bool:
    if turn.task is None or turn.trigger not in DECIDES_TASK:
        return False
    return work.state.tasks[turn.task].status in COMPLETED


def end_waiting(
    work: Work,
    turn: Turn,
    state: TurnState,
    error: str | None = None,
    stopped_by: str | None = None,
) -> Turn:
    """A turn that waited for a person, or in the queue, comes to its end."""
    if turn.state is TurnState.WAITING:
        work.scheduler.vacate(turn)
        _close_asks(work, turn)
    final = evolve(turn, state=state, ended_ms=work.now_ms, error=error, stopped_by=stopped_by)
    work.put_turn(final)
    _after_end(work, final)
    return final


def _close_asks(work: Work, turn: Turn) -> None:
    for ask in [ask for ask in work.state.asks.values() if ask.turn == turn.id]:
        closed = evolve(ask, state=AskState.CANCELLED, answered_ms=work.now_ms)
        work.put_ask(closed, is_open=False)


def _after_end(work: Work, turn: Turn) -> None:
    work.state.tally_end(turn, work.now_ms)
    fields: dict[str, Any] = {"state": turn.state, "exit_code": turn.exit_code}
    fields["lane"] = turn.lane
    if turn.error is not None:
        fields["error"] = turn.error
    work.emit("turn.finished", turn, **fields)
    refresh_next(work, turn)
    if turn.task is not None and turn.trigger in DECIDES_TASK:
        decide_task(work, turn, work.state.tasks[turn.task])


def stop_turn(work: Work, turn: Turn, by: str, why: str = "", *, for_good: bool = False) -> Turn:
    """Cancels a queued or waiting turn, or has a running one ended.

    `why`: what happened elsewhere and ends it; without it a person wants it ended. `for_good`: its
    task has failed with it.
    """
    person = None if why else by
    if for_good and turn.task is not None and turn.trigger in DECIDES_TASK:
        work.put_task(evolve(work.state.tasks[turn.task], because=Because.CANCELLED))
    ends = for_good or turn.state is TurnState.QUEUED
    words = why or f"{'cancelled' if ends else 'stopped'} by {by}"
    if turn.state in (TurnState.QUEUED, TurnState.WAITING):
        return end_waiting(work, turn, TurnState.CANCELLED, words, person)
    if turn.state is TurnState.STOPPING:
        return turn
    close_live(work, turn)
    stopping = evolve(turn, state=TurnState.STOPPING, error=words, stopped_by=person)
    work.put_turn(stopping)
    work.stops.append(turn.id)
    return stopping
