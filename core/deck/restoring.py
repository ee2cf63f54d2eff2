"""Builds the state in memory from what is stored."""

from __future__ import annotations

from batchdeck.core.deck.admitting import (
    admitted_as_item,
    choose_items,
    know_foreaches,
    restore_items,
)
from batchdeck.core.deck.budgeting import stand_budgets
from batchdeck.core.deck.closing import close_slots
from batchdeck.core.deck.scheduler import Scheduler
from batchdeck.core.deck.state import KEPT_ENDED, DeckState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.task import ADMISSIBLE, SETTLED, Status, Task
from batchdeck.core.model.turn import (
    DECIDES_TASK,
    ENDED,
    LIVE,
    Trigger,
    Turn,
    TurnState,
)
from batchdeck.core.rules.limits import effective_agent_limit, effective_limit
from batchdeck.core.store.load import Stored
from batchdeck.core.view import AgentTally, DeckView, IssueMove


def state_from(stored: Stored, deck: str, keep_ended: int = KEPT_ENDED) -> DeckState:
    """The state that `stored` describes; the scheduler is built from it by `scheduler_for`."""
    state = DeckState(deck=deck, kept_ended=keep_ended)
    state.agents = {agent.name: agent for agent in stored.agents}
    state.batches = {batch.name: batch for batch in stored.batches}
    state.limits = {limit.name: limit for limit in stored.limits}
    state.holds = {hold.what: hold for hold in stored.holds}
    state.asks = {ask.id: ask for ask in stored.asks}
    state.blockers = {blocker.id: blocker for blocker in stored.blockers}
    state.cooldowns = {one.account: one for one in stored.cooldowns}
    state.spent = dict(stored.spent)
    state.budgets_of = {budget.batch: budget for budget in stored.budgets}
    for name in state.budgets_of:
        stand_budgets(state, name)
    state.allowances = {allowed.id: allowed for allowed in stored.allowances}
    state.elsewhere = dict.fromkeys(stored.done_elsewhere)
    state.issue_moves = {
        task: IssueMove(event, Status(status), moved_ms)
        for task, (event, status, moved_ms) in stored.issue_moves.items()
    }
    for found in stored.conversations:
        state.know_conversation(found)
    state.folders = {folder.key: row for row, folder in stored.folders.items()}
    state.folder_paths = {folder.key: folder.path for folder in stored.folders.values()}
    state.defined_folders = dict(stored.defined_folders)
    state.tallies = {
        agent: AgentTally(done=good, failed=bad) for agent, (good, bad) in stored.tallies.items()
    }
    state.draining = stored.facts.get("draining") == "1"
    for name, last in stored.last_ids.items():
        setattr(state.next, name, last + 1)
    state.incomplete = stored.incomplete
    know_foreaches(state, stored.folders.values())
    state.revision = stored.last_ids.get("event", 0)
    for task in stored.tasks:
        wrote = stored.wrote.get(task.id)
        state.put_task(task if wrote is None else evolve(task, wrote=wrote))
    for turn in stored.turns:
        state.put_turn(with_task(turn, state))
    state.forget_old_ends()
    restore_items(state, stored.item_values)
    choose_items(state)
    return state


def with_task(turn: Turn, state: DeckState) -> Turn:
    """A queued turn with what its task's status and dependencies mean for it now."""
    if turn.state is not TurnState.QUEUED or turn.task is None:
        return turn
    task = state.tasks[turn.task]
    if turn.trigger not in DECIDES_TASK:
        return evolve(turn, lane=task.status)
    depends_on = state.open_dependencies(task.depends_on) if task.depends_on else ()
    blocked = keeps_back(task, turn.trigger, state)
    if depends_on == turn.depends_on and blocked == turn.blocked:
        return turn
    return evolve(turn, depends_on=depends_on, blocked=blocked)


def admits(task: Task, trigger: Trigger) -> bool:
    """Whether the task's status lets a turn of this trigger start."""
    if task.status in ADMISSIBLE:
        return True
    if trigger is Trigger.RETRY:
        return task.status is Status.FAILED
    return trigger is Trigger.ANSWER and task.status is Status.BLOCKED


def keeps_back(task: Task, trigger: Trigger, state: DeckState) -> bool:
    """Whether the task's status, or a question that is still open, keeps such a turn back."""
    if task.status is Status.BLOCKED and state.has_open_blocker(task.id):
        return True
    return not admits(task, trigger)


def only_limits_left(turn: Turn, state: DeckState, now_ms: int) -> bool:
    """Whether nothing but limits, folders and holds of others can be in a queued turn's way."""
    if not admitted_as_item(turn, state):
        return False
    return (
        turn.state is TurnState.QUEUED
        and turn.held_by is None
        and turn.authorised
        and not turn.depends_on
        and not turn.blocked
        and turn.not_before_ms <= now_ms
        and f"turn:{turn.id}" not in state.holds
        and state.lines.may_begin(turn)
    )


def scheduler_for(state: DeckState, now_ms: int) -> Scheduler:
    """A scheduler that stands where the state stands."""
    scheduler = Scheduler()
    view = state.snapshot(now_ms)
    sync_limits(scheduler, view)
    close_slots(state, scheduler, now_ms)
    for turn in state.turns.values():
        if turn.state in LIVE:
            scheduler.take(turn)
        elif turn.state is TurnState.WAITING:
            scheduler.occupy(turn)
        elif turn.state not in ENDED and only_limits_left(turn, state, now_ms):
            scheduler.add(turn)
    return scheduler


def sync_limits(scheduler: Scheduler, view: DeckView) -> None:
    """Gives the scheduler every number in force."""
    scheduler.set_limit("global", effective_limit(view, "global"))
    for agent in view.agents:
        scheduler.set_limit(f"agent:{agent}", effective_agent_limit(view, agent))
    for name in view.limits:
        if not name.startswith("agent:"):
            scheduler.set_limit(name, effective_limit(view, name))


def settled(state: DeckState, batch: str) -> bool:
    """Whether every task of a batch has come to its end."""
    counts = state.task_counts.get(batch, {})
    return batch not in state.incomplete and all(
        not count or status in SETTLED for status, count in counts.items()
    )
