"""Why an action is off where the operator is, in words."""

from __future__ import annotations

from collections.abc import Callable

from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.model.task import COMPLETED, Status, may_move
from batchdeck.core.model.turn import DECIDES_TASK, ENDED, LIVE, Turn, TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.action import Focus, Standpoint

_PerTurn = Callable[[Turn, DeckView], "str | None"]


def no_turn(at: Standpoint) -> str | None:
    return None if at.chosen else "there is no turn here"


def no_row(at: Standpoint) -> str | None:
    if at.focus in (Focus.TURNS, Focus.QUEUE, Focus.ITEMS):
        return "there is no turn here" if at.turn is None else None
    if at.focus is Focus.LIMITS:
        return "change the limit first (+ - or a number), enter then applies it"
    if at.focus is Focus.STATUS:
        return "there is no status here" if at.status is None else None
    if at.agent is None:
        return "there is no agent here"
    return None if at.agent in at.view.agents else f"there is no agent {at.agent} any more"


def no_addressee(at: Standpoint) -> str | None:
    if at.focus is Focus.AGENTS:
        return no_row(at)
    return "there is no turn here" if at.turn is None else None


def no_limit(at: Standpoint) -> str | None:
    if at.focus is Focus.STATUS and at.status is not None and at.status.batch is None:
        return f"several batches have {at.status.status}; choose the row of one"
    return None if at.limit is not None else "there is no limit here"


def no_need_of_limit(at: Standpoint) -> str | None:
    if at.limit == GLOBAL:
        return f"the deck itself needs one, 0 to {at.view.max_parallel_cap}"
    return no_limit(at)


def not_stoppable(at: Standpoint) -> str | None:
    return _for_none(at, _why_not_stoppable)


def not_retryable(at: Standpoint) -> str | None:
    return _for_none(at, _why_not_retryable)


def not_blockable(at: Standpoint) -> str | None:
    if len(at.marked) > 1:
        return "one at a time; esc takes the marks away"
    if at.turn is None:
        return no_turn(at)
    task = None if at.turn.task is None else at.view.tasks.get(at.turn.task)
    if task is None:
        return f"#{at.turn.id} is a message, not a task; h holds it"
    if task.status is Status.BLOCKED or may_move(task.status, Status.BLOCKED):
        return None
    return f"{task.key} is {task.status}"


def not_holdable(at: Standpoint) -> str | None:
    if at.focus is Focus.AGENTS:
        return no_row(at)
    return _for_none(at, _why_not_holdable)


def nothing_allowed(at: Standpoint) -> str | None:
    return None if at.view.allowances else "nothing is allowed for always: every agent asks"


def no_items(at: Standpoint) -> str | None:
    return None if at.view.items else "no batch here has a foreach"


def nothing_needed(at: Standpoint) -> str | None:
    return None if at.needing else "nothing needs you"


def _for_none(at: Standpoint, why: _PerTurn) -> str | None:
    """Off where it can be done for none of the chosen turns."""
    reasons = [why(turn, at.view) for turn in at.chosen]
    if not reasons:
        return no_turn(at)
    if not all(reason is not None for reason in reasons):
        return None
    one = reasons[0]
    return one if len(reasons) == 1 else f"none of the {len(reasons)} marked: {one}, …"


def stoppable(turn: Turn, view: DeckView) -> bool:
    return _why_not_stoppable(turn, view) is None


def holdable(turn: Turn, view: DeckView) -> bool:
    return _why_not_holdable(turn, view) is None


def retryable(turn: Turn, view: DeckView) -> bool:
    return _why_not_retryable(turn, view) is None


def not_mergeable(at: Standpoint) -> str | None:
    if len(at.marked) < 2:
        return "mark two or more messages first (space)"
    if any(turn.trigger in DECIDES_TASK for turn in at.marked):
        return "only messages can be merged, not the turns of tasks"
    return None


def not_one(at: Standpoint) -> str | None:
    if len(at.marked) > 1:
        return "one at a time; esc takes the marks away"
    return no_row(at)


def _why_not_stoppable(turn: Turn, view: DeckView) -> str | None:
    if turn.state in ENDED:
        return f"#{turn.id} has ended: {turn.state}"
    return f"#{turn.id} is being stopped already" if turn.state is TurnState.STOPPING else None


def _why_not_retryable(turn: Turn, view: DeckView) -> str | None:
    task = None if turn.task is None else view.tasks.get(turn.task)
    if task is None:
        return f"#{turn.id} is a message, not a task; m writes it again"
    if turn.state in LIVE:
        return f"#{turn.id} still runs"
    return f"{task.key} is {task.status}" if task.status in COMPLETED else None


def _why_not_holdable(turn: Turn, view: DeckView) -> str | None:
    if turn.state is not TurnState.QUEUED:
        return f"#{turn.id} is {turn.state}; only what is queued can be held"
    return None
