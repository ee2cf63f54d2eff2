"""Views as the JSON documents that `--json` prints; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from batchdeck.core.model.account import account_of
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.batch import Batch, BatchState
from batchdeck.core.model.budget import Spent
from batchdeck.core.model.limit import GLOBAL, agent_limit, batch_limit, status_limit
from batchdeck.core.model.task import COMPLETED, SETTLED, Status, Task
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.budgets import budget_names, may_still_use
from batchdeck.core.rules.limits import effective_agent_limit, effective_limit
from batchdeck.core.rules.order import service_order
from batchdeck.core.view import DeckView


def status_document(view: DeckView) -> dict[str, Any]:
    """`status --json`."""
    active = [batch for batch in view.batches.values() if batch.state is BatchState.RUNNING]
    return {
        "deck": view.deck,
        "revision": view.revision,
        "mode": view.mode,
        "fault": view.fault,
        "supervised": view.supervised,
        "running": view.running,
        "queued": view.queued,
        "waiting": view.waiting,
        "limit": effective_limit(view, GLOBAL),
        "forced": view.forced,
        "by_status": _summed([_by_status(view, batch) for batch in active or _latest(view)]),
        "by_agent": {name: _agent_counts(view, name) for name in sorted(view.agents)},
        "batches": [_batch_counts(view, batch) for batch in view.batches.values()],
        "holds": [
            {"what": hold.named, "by": hold.by, "reason": hold.reason, "at_ms": hold.at_ms}
            for hold in view.holds.values()
        ],
        "needs_you": len(view.asks),
    }


def _latest(view: DeckView) -> list[Batch]:
    return list(view.batches.values())[-1:]


def _by_status(view: DeckView, batch: Batch) -> dict[Status, dict[str, int | None]]:
    counts = view.task_counts.get(batch.name, {})
    found: dict[Status, dict[str, int | None]] = {}
    for status in Status:
        name = status_limit(batch.name, status)
        row: dict[str, int | None] = {
            "running": view.running_by.get(name, 0),
            "queued": view.queued_by.get(name, 0),
            "limit": effective_limit(view, name),
            "tasks": counts.get(status, 0),
        }
        if any(row.values()) or row["limit"] is not None or status is Status.READY:
            found[status] = row
    return found


def _summed(
    parts: list[dict[Status, dict[str, int | None]]],
) -> dict[str, dict[str, int | None]]:
    """One batch's own rows, or the sums over several, where no one limit applies."""
    if len(parts) == 1:
        return {str(status): row for status, row in parts[0].items()}
    total: dict[str, dict[str, int | None]] = {}
    for part in parts:
        for status, row in part.items():
            sums = total.setdefault(
                str(status), {"running": 0, "queued": 0, "limit": None, "tasks": 0}
            )
            for name in ("running", "queued", "tasks"):
                sums[name] = (sums[name] or 0) + (row[name] or 0)
    return total


def _agent_counts(view: DeckView, name: str) -> dict[str, Any]:
    agent = view.agents[name]
    return {
        "running": view.running_by.get(agent_limit(name), 0),
        "queued": view.queued_by.get(agent_limit(name), 0),
        "limit": effective_agent_limit(view, name),
        "kind": agent.kind,
        "serial": agent.one_at_a_time,
    }


def done_of(counts: Mapping[Status, int]) -> int:
    return sum(counts.get(status, 0) for status in COMPLETED)


def _batch_counts(view: DeckView, batch: Batch) -> dict[str, Any]:
    counts = view.task_counts.get(batch.name, {})
    return {
        "name": batch.name,
        "state": batch.state,
        "running": view.running_by.get(batch_limit(batch.name), 0),
        "queued": view.queued_by.get(batch_limit(batch.name), 0),
        "limit": effective_limit(view, batch_limit(batch.name)),
        "done": done_of(counts),
        "failed": counts.get(Status.FAILED, 0),
        "total": sum(counts.values()),
        "by_status": {str(status): row for status, row in _by_status(view, batch).items()},
    }


def batch_documents(view: DeckView) -> list[dict[str, Any]]:
    """`batches --json`: flat."""
    rows = []
    for batch in view.batches.values():
        row = _batch_counts(view, batch)
        del row["by_status"]
        row |= {
            "on_error": batch.on_error,
            "file": batch.file,
            "created_ms": batch.created_ms,
            "ended_ms": batch.ended_ms,
            **_spent(view, batch_limit(batch.name)),
            **_budget(view, batch.name),
            **_items(view, batch),
        }
        rows.append(row)
    return rows


def _items(view: DeckView, batch: Batch) -> dict[str, Any]:
    """How a foreach stands; nothing for a batch that has none."""
    items = view.items.get(batch.name)
    if items is None:
        return {}
    return {
        "items_active": items.active,
        "items_outstanding": items.outstanding,
        "max_active": items.max_active,
        "max_outstanding": items.max_outstanding,
        "committed": batch.committed is not None,
    }


def agent_documents(view: DeckView) -> list[dict[str, Any]]:
    """`agents --json`: flat."""
    rows = []
    for name in sorted(view.agents):
        tally = view.agent_tallies.get(name)
        row = {"name": name, **_agent_counts(view, name)}
        row |= {
            "done": 0 if tally is None else tally.done,
            "failed": 0 if tally is None else tally.failed,
            "folder": view.agents[name].folder,
            "account": account_of(view.agents[name]),
            **_spent(view, agent_limit(name)),
            "cools_until_ms": _cools_until(view, view.agents[name]),
        }
        rows.append(row)
    return rows


def _spent(view: DeckView, name: str) -> dict[str, Any]:
    """What was used, where anybody said so, and by how many attempts nobody did."""
    spent = view.spent.get(name, Spent())
    return {
        "tokens": spent.tokens if spent.unknown < spent.attempts else None,
        "tokens_unknown": spent.unknown,
        "money": spent.money if spent.unpriced < spent.attempts else None,
        "money_unknown": spent.unpriced,
    }


def _budget(view: DeckView, batch: str) -> dict[str, Any]:
    tokens, money = (view.budgets.get(name) for name in budget_names(batch))
    spent = view.spent.get(batch_limit(batch), Spent())
    more = may_still_use(spent, view.running_by.get(batch_limit(batch), 0))
    return {
        "tokens_expected": more.tokens,
        "money_expected": more.money,
        "budget_tokens": None if tokens is None else tokens.limit,
        "budget_money": None if money is None else money.limit,
        "budget_hard": any(budget is not None and budget.hard for budget in (tokens, money)),
    }


def _cools_until(view: DeckView, agent: Agent) -> int | None:
    cooldown = view.cooldowns.get(account_of(agent))
    return None if cooldown is None else cooldown.until_ms


def task_document(view: DeckView, task: Task) -> dict[str, Any]:
    """One row of `tasks --json`."""
    turn = None if task.turn is None else view.turns.get(task.turn)
    attempts = task.attempts if turn is None else turn.attempts
    return {
        "id": task.key,
        "title": task.title,
        "status": task.status,
        "agent": task.agent,
        "batch": task.batch,
        "turn": None if task.turn is None else str(task.turn),
        "state": None if turn is None else turn.state,
        "attempts": attempts,
        "error": task.error,
        "conversation": task.shared,
        **_spent(view, f"task:{task.id}"),
    }


def task_documents(view: DeckView) -> list[dict[str, Any]]:
    """`tasks --json`, in batch order."""
    return [task_document(view, task) for task in view.tasks.values() if not task.barrier]


def turn_document(view: DeckView, turn: Turn) -> dict[str, Any]:
    """One row of `turns --json`."""
    task = None if turn.task is None else view.tasks.get(turn.task)
    return {
        "turn": str(turn.id),
        "task": None if task is None else task.key,
        "batch": turn.batch,
        "agent": turn.agent,
        "conversation": f"c{turn.conversation}",
        "trigger": turn.trigger,
        "state": turn.state,
        "lane": turn.lane,
        "priority": turn.priority,
        "target": turn.target,
        "folder": None if turn.folder is None else turn.folder.path,
        "attempts": turn.attempts,
        "forced": list(turn.forced),
        "held_by": turn.held_by,
        "queued_ms": turn.queued_ms,
        "started_ms": turn.started_ms,
        "ended_ms": turn.ended_ms,
        "exit_code": turn.exit_code,
        "error": turn.error,
        "title": turn.title,
        **_spent(view, f"turn:{turn.id}"),
    }


def turns_in_order(view: DeckView) -> Iterable[Turn]:
    """Running, then waiting, then queued in the order of service, then ended, latest first."""
    live = set(view.live)
    yield from (view.turns[turn] for turn in view.live)
    yield from (t for t in view.turns.values() if t.state is TurnState.WAITING)
    yield from (view.turns[turn] for turn in service_order(view))
    ended = [t for t in view.turns.values() if t.ended_ms is not None and t.id not in live]
    yield from sorted(ended, key=lambda t: (t.ended_ms or 0, t.id), reverse=True)


def unfinished(view: DeckView, batch: str) -> int:
    counts = view.task_counts.get(batch, {})
    return sum(number for status, number in counts.items() if status not in SETTLED)
