"""Every gate between a turn and its start, each with who holds it and what frees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from batchdeck.core.model.account import account_of
from batchdeck.core.model.blocker import BlockerState
from batchdeck.core.model.gate import CAPACITY, Gate, GateName, Holder
from batchdeck.core.model.hold import END_DRAIN
from batchdeck.core.model.limit import (
    ATTENTION,
    GLOBAL,
    agent_limit,
    batch_limit,
    status_limit,
)
from batchdeck.core.model.line import conversation_line, target_line
from batchdeck.core.model.turn import DECIDES_TASK, LIVE, Turn, TurnState
from batchdeck.core.rules.budgets import budget_names, closes
from batchdeck.core.rules.cooling import tried_by
from batchdeck.core.rules.items import CANDIDATES, stage_of
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.rules.standing import Standing
from batchdeck.core.view import DeckView, ItemsStanding

_MOST_QUESTION = 80


def evaluate(turn: Turn, view: DeckView, now_ms: int) -> tuple[Gate, ...]:
    """Every gate that applies to `turn`, open or shut, in the order of display."""
    return gates_of(turn, Standing(view), now_ms)


def shut(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """Those that are not open; the first is the primary reason."""
    return tuple(gate for gate in gates if not gate.open)


def gates_of(turn: Turn, standing: Standing, now_ms: int) -> tuple[Gate, ...]:
    """As `evaluate`, for what stands really or would stand in a plan."""
    found = (gate(turn, standing, now_ms) for gate in _IN_ORDER)
    return tuple(gate for gate in found if gate is not None)


def admissible(turn: Turn, standing: Standing, now_ms: int) -> bool:
    """Whether every gate is open; what a plan and the dispatcher ask."""
    return not any(
        (gate := rule(turn, standing, now_ms)) is not None and not gate.open for rule in _IN_ORDER
    )


def _holder(turn: Turn, view: DeckView) -> Holder:
    task = None if turn.task is None else view.tasks.get(turn.task)
    since = turn.queued_ms if turn.started_ms is None else turn.started_ms
    return Holder(turn.id, None if task is None else task.key, since, bool(turn.forced))


def _holders(turns: Iterable[Turn], view: DeckView) -> tuple[Holder, ...]:
    ordered = sorted(turns, key=lambda turn: (turn.started_ms or 0, turn.id))
    return tuple(_holder(turn, view) for turn in ordered)


def _when_one_ends(holders: tuple[Holder, ...]) -> str:
    numbers = [f"#{holder.turn}" for holder in holders]
    if len(numbers) > 3:
        return f"when one of {len(numbers)} running turns ends"
    return f"when {' or '.join(numbers)} ends" if numbers else "when one ends"


def _held(turn: Turn, standing: Standing, now_ms: int) -> Gate:
    view = standing.view
    names = ["deck", f"agent:{turn.agent}", f"turn:{turn.id}"]
    if (agent := view.agents.get(turn.agent)) is not None:
        names.append(f"account:{account_of(agent)}")
    if turn.batch is not None:
        names.append(f"batch:{turn.batch}")
    if turn.folder is not None:
        names.extend(f"folder:{key}" for key in (turn.folder.key, *turn.folder.above))
    reasons = [_words_of_hold(view, name, turn) for name in names if name in view.holds]
    if turn.held_by is not None:
        reasons.append(f"this turn, by {turn.held_by}")
    if not turn.authorised:
        reasons.append("not authorised yet")
    if view.draining:
        reasons.append("the deck is draining")
    batch = None if turn.batch is None else view.batches.get(turn.batch)
    if batch is not None and batch.adding is not None:
        reasons.append(f"batch {turn.batch} is being added")
    if turn.batch is not None and turn.batch in standing.quiesced:
        reasons.append(f"batch {turn.batch} waits for an answer")
    if not reasons:
        return Gate(GateName.HOLD, True)
    only_added = batch is not None and batch.adding is not None and len(reasons) == 1
    is_held = len(reasons) > view.draining
    frees = "when all of it is there" if only_added else _ends_hold(is_held, view.draining)
    return Gate(GateName.HOLD, False, subject="; ".join(reasons), frees=frees)


def _ends_hold(is_held: bool, is_draining: bool) -> str:
    """A release does not end a drain, nor the other way round."""
    released = ["it is released"] if is_held else []
    admitting = [f"the deck admits again ({END_DRAIN})"] if is_draining else []
    return f"when {' and '.join(released + admitting)}"


def _words_of_hold(view: DeckView, name: str, turn: Turn) -> str:
    hold = view.holds[name]
    what = name.partition(":")
    words = {"deck": "the deck", "turn": "this turn", "folder": "its folder"}.get(
        what[0], f"{what[0]} {what[2]}"
    )
    return f"{words}, by {hold.by}" + (f": {hold.reason}" if hold.reason else "")


def _budget(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    view = standing.view
    names = budget_names(turn.batch) if turn.batch and view.budgets else ()
    budgets = {name: view.budgets[name] for name in names if name in view.budgets}
    if not budgets:
        return None
    spent = [name for name, budget in budgets.items() if closes(budget)]
    return Gate(
        GateName.BUDGET,
        not spent,
        subject=", ".join(spent or budgets),
        frees="when the budget is raised" if spent else "",
    )


def _cooldown(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    agent = standing.view.agents.get(turn.agent)
    if agent is None:
        return None
    account = account_of(agent)
    cooldown = standing.view.cooldowns.get(account)
    if cooldown is None:
        return None
    if cooldown.until_ms > now_ms:
        words = f"in {_span(cooldown.until_ms - now_ms)}"
        return Gate(GateName.COOLDOWN, False, subject=account, frees=words)
    probe = tried_by(cooldown, standing.view.turns)
    is_open = probe is None and not standing.started(account)
    holders = () if probe is None else _holders((probe,), standing.view)
    words = "" if is_open else "when the turn that tries it has ended"
    return Gate(GateName.COOLDOWN, is_open, subject=account, holders=holders, frees=words)


def _span(milliseconds: int) -> str:
    seconds = max(1, -(-milliseconds // 1000))
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _not_before(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    if not turn.not_before_ms:
        return None
    is_open = turn.not_before_ms <= now_ms
    words = "" if is_open else f"in {_span(turn.not_before_ms - now_ms)}"
    return Gate(GateName.NOT_BEFORE, is_open, frees=words)


def _depends_on(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    tasks = standing.view.tasks
    if turn.blocked:
        task = tasks.get(turn.task) if turn.task is not None else None
        status = "BLOCKED" if task is None else task.status
        return Gate(GateName.DEPENDS_ON, False, subject=status, frees=_unblocks(turn, standing))
    if not turn.depends_on:
        return None
    names = [tasks[task].key if task in tasks else str(task) for task in turn.depends_on]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return Gate(GateName.DEPENDS_ON, False, subject=shown, frees=f"when {shown} is done")


def _unblocks(turn: Turn, standing: Standing) -> str:
    asked = [
        blocker
        for blocker in standing.view.blockers.values()
        if blocker.task == turn.task and blocker.state is BlockerState.OPEN
    ]
    if not asked:
        return "when the task is READY"
    first = " ".join(asked[0].question.split())
    words = first if len(first) <= _MOST_QUESTION else first[: _MOST_QUESTION - 1] + "…"
    more = f", and {len(asked) - 1} more" if len(asked) > 1 else ""
    return f"when blocker {asked[0].id} is answered ({words}){more}"


def _in_front(turn: Turn, standing: Standing, line: str) -> tuple[Turn, ...]:
    """Turns of the line that have not ended and were received before, or have begun."""
    members = standing.view.in_order.get(line, ())
    known = (standing.view.turns[member] for member in members if member != turn.id)
    mine = (turn.position, turn.id)
    return tuple(o for o in known if (o.position, o.id) < mine or o.state in _BEGUN)


_BEGUN = LIVE | {TurnState.WAITING}


def _in_line(turn: Turn, standing: Standing, name: GateName, line: str, subject: str) -> Gate:
    in_front = _in_front(turn, standing, line)
    if not in_front:
        return Gate(name, True, subject=subject)
    last = in_front[-1]
    return Gate(
        name,
        False,
        subject=subject,
        used=len(in_front),
        holders=_holders(in_front, standing.view),
        frees=f"when #{last.id} has ended",
    )


def _target(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    if turn.target is None:
        return None
    return _in_line(turn, standing, GateName.TARGET, target_line(turn.target), turn.target)


def _conversation(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    line = conversation_line(turn.conversation)
    if line not in standing.view.in_order:
        return None
    gate = _in_line(turn, standing, GateName.CONVERSATION, line, f"c{turn.conversation}")
    task = None if turn.task is None else standing.view.tasks.get(turn.task)
    if task is None or task.shared is None or turn.conversation == task.conversation:
        return gate
    return replace(gate, subject=f"{gate.subject} ({task.shared})")


def _capacity(turn: Turn, standing: Standing, gate: GateName, subject: str, name: str) -> Gate:
    limit = effective_limit(standing.view, name)
    used = standing.used(name)
    if limit is None or used < limit:
        return Gate(gate, True, subject=subject, used=used, limit=limit)
    holders = _holders(standing.under(name), standing.view)
    if limit == 0:
        frees = "when its limit is raised: it is closed"
    elif used > limit:
        frees = f"when {used - limit + 1} of {used} running turns have ended"
    else:
        frees = _when_one_ends(holders)
    passable = limit > 0 and not _is_serial(turn, standing, gate)
    return Gate(gate, False, subject, used, limit, holders, frees, passable)


def _is_serial(turn: Turn, standing: Standing, gate: GateName) -> bool:
    if gate is not GateName.AGENT:
        return False
    agent = standing.view.agents.get(turn.agent)
    return agent is not None and agent.one_at_a_time


def _agent(turn: Turn, standing: Standing, now_ms: int) -> Gate:
    return _capacity(turn, standing, GateName.AGENT, turn.agent, agent_limit(turn.agent))


def _folder(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    if turn.folder is None:
        return None
    others = list(standing.in_folder_of(turn))
    holders = _holders(others, standing.view)
    elsewhere = (other.folder for other in others if other.folder is not None)
    return Gate(
        GateName.FOLDER,
        not holders,
        subject=turn.folder.path,
        used=len(holders),
        limit=1,
        holders=holders,
        frees=_when_one_ends(holders) if holders else "",
        place=next((f.path for f in elsewhere if f.key != turn.folder.key), ""),
    )


def _status(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    if turn.batch is None or turn.lane is None:
        return None
    name = status_limit(turn.batch, turn.lane)
    return _capacity(turn, standing, GateName.STATUS, turn.lane, name)


def _batch(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    if turn.batch is None:
        return None
    return _capacity(turn, standing, GateName.BATCH, turn.batch, batch_limit(turn.batch))


def _global(turn: Turn, standing: Standing, now_ms: int) -> Gate:
    return _capacity(turn, standing, GateName.GLOBAL, "", GLOBAL)


def _items(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    """Shut for the turns of items that are not chosen; those of items at work pass."""
    if turn.batch is None or turn.batch not in standing.view.items:
        return None
    task = None if turn.task is None else standing.view.tasks.get(turn.task)
    if task is None or task.index is None or turn.trigger not in DECIDES_TASK:
        return None
    items = standing.items(turn.batch)
    is_open = stage_of(task, turn) not in CANDIDATES or turn.id in items.chosen
    used, limit = _items_numbers(items)
    frees = ""
    if not is_open:
        frees = "when its limit is raised: it is closed" if limit == 0 else "when an item has ended"
        frees = "when its batch goes on" if items.closed else frees
    return Gate(GateName.ITEMS, is_open, turn.batch, used, limit, frees=frees)


def _items_numbers(items: ItemsStanding) -> tuple[int, int | None]:
    """Items at work, unless it is the number of those that have begun that leaves no room."""
    full = items.max_active is not None and items.active >= items.max_active
    if full or items.max_outstanding is None or items.outstanding < items.max_outstanding:
        return items.active, items.max_active
    return items.outstanding, items.max_outstanding


def _attention(turn: Turn, standing: Standing, now_ms: int) -> Gate | None:
    limit = effective_limit(standing.view, ATTENTION)
    if limit is None:
        return None
    waiting = standing.view.waiting
    if waiting < limit:
        return Gate(GateName.ATTENTION, True, used=waiting, limit=limit)
    asked = [standing.view.turns.get(ask.turn) for ask in standing.view.asks.values()]
    holders = _holders([t for t in asked if t is not None], standing.view)
    frees = "when its limit is raised: it is closed" if limit == 0 else "when you answer one"
    return Gate(GateName.ATTENTION, False, "", waiting, limit, holders, frees)


_IN_ORDER: tuple[Callable[[Turn, Standing, int], Gate | None], ...] = (
    _held,
    _budget,
    _cooldown,
    _not_before,
    _depends_on,
    _target,
    _conversation,
    _agent,
    _folder,
    _status,
    _batch,
    _global,
    _items,
    _attention,
)


def passable(gates: Iterable[Gate]) -> bool:
    """Whether a forced turn may pass all of these shut gates."""
    return all(gate.name in CAPACITY and gate.passable for gate in gates if not gate.open)
