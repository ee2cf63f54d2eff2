"""What a limit that is being changed would start, and what would still wait on what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from rich.cells import cell_len

from batchdeck.core.model.limit import ATTENTION, GLOBAL, agent_limit
from batchdeck.core.rules.gates import gates_of, shut
from batchdeck.core.rules.items import may_be_chosen, stage_of
from batchdeck.core.rules.plan import start_among, with_limits
from batchdeck.core.rules.standing import Standing, limit_names
from batchdeck.tui.present.gates import bare_gate_words
from batchdeck.tui.present.hints import Hint
from batchdeck.tui.present.limit_change import LimitChange, limit_name_words
from batchdeck.tui.present.limits import (
    batch_of_items,
    number,
    queued_under,
    standing,
    used_under,
)
from batchdeck.tui.present.scene import Scene

_PATIENCE = 20_000
"""Queued turns that are looked at: the preview must be there within a tenth of a second."""
_OF_ALL = (GLOBAL, ATTENTION)
"""Limits that every turn stands behind."""
_MOST_STARTS = 6
_MOST_WAITS = 2


class WhatIf(NamedTuple):
    """The words of a preview."""

    title: str
    starts: str
    waits: str


def change_hints(change: LimitChange) -> tuple[Hint, ...]:
    """The keys that count while a limit is being changed."""
    needs_one = change.name == GLOBAL
    return (
        ("enter", "apply"),
        ("esc", f"leave it at {number(change.before)}"),
        ("+ -", "change"),
        ("0-9", "set"),
        *(() if needs_one else (("n", "none"),)),
        ("?", "help"),
    )


def what_if(change: LimitChange, scene: Scene, room: int = 200) -> WhatIf:
    """What applying the change would do at this moment, in lines of `room` cells."""
    view = with_limits(scene.view, {change.name: change.after})
    then = Standing(view)
    before = f"{limit_name_words(change.name)} {number(change.before)}"

    def may_start(agent: str) -> bool:
        return not then.full(agent_limit(agent))

    started = start_among(then, scene.queues.in_order(may_start), scene.now_ms, _PATIENCE)
    return WhatIf(
        title=f"{before} → {number(change.after)}",
        starts=_starts_words(started, change, scene, room),
        waits=_waits_words(started, change, then, scene, room),
    )


def _starts_words(started: Sequence[int], change: LimitChange, scene: Scene, room: int) -> str:
    if not started:
        meaning = standing(used_under(scene.view, change.name), change.after)
        over = f": {meaning}, what runs goes on" if meaning.startswith("over") else ""
        return f"starts now:   nothing{over}"
    names = [_name(turn, scene) for turn in started[:_MOST_STARTS]]
    return _listed("starts now:   ", names, len(started), room)


def _listed(head: str, names: Sequence[str], total: int, room: int) -> str:
    """As many as fit into a line, and how many more there are; one at least."""
    for count in range(len(names), 1, -1):
        line = _with_more(head, names[:count], total)
        if cell_len(line) <= room:
            return line
    return _with_more(head, names[:1], total)


def _with_more(head: str, names: Sequence[str], total: int) -> str:
    more = [f"{total - len(names)} more"] if total > len(names) else []
    return head + ", ".join([*names, *more])


def _waits_words(
    started: Sequence[int], change: LimitChange, then: Standing, scene: Scene, room: int
) -> str:
    counted = sum(_counts(turn, change.name, scene) for turn in started)
    everyone = change.name in _OF_ALL
    queued = scene.view.queued if everyone else queued_under(scene.view, change.name)
    waiting = queued - counted
    if waiting <= 0:
        return "still waits:  nothing"
    gone = set(started)
    behind = (turn for turn in _behind(change.name, scene) if turn not in gone)
    shown = [_waiter(turn, change.name, then, scene) for turn in islice(behind, _MOST_WAITS)]
    return _listed("still waits:  ", shown, waiting, room)


def _behind(name: str, scene: Scene) -> Iterator[int]:
    """The queued turns that count under a limit, in order; only the first ones are looked for."""
    in_order = scene.queues.in_order(
        lambda agent: not name.startswith("agent:") or name == agent_limit(agent)
    )
    return (turn for turn in islice(in_order, _PATIENCE) if _counts(turn, name, scene))


def _counts(turn: int, name: str, scene: Scene) -> bool:
    if name.startswith("items:"):
        return _is_item_of(batch_of_items(name), turn, scene)
    return name in _OF_ALL or name in limit_names(scene.view.turns[turn])


def _is_item_of(batch: str, turn_id: int, scene: Scene) -> bool:
    """Whether it is the turn of an item that the limits of its foreach keep back, or let go."""
    turn = scene.view.turns[turn_id]
    task = None if turn.task is None else scene.view.tasks.get(turn.task)
    is_item = turn.batch == batch and task is not None and task.index is not None
    return is_item and task is not None and may_be_chosen(stage_of(task, turn), turn)


def _waiter(turn_id: int, name: str, then: Standing, scene: Scene) -> str:
    gates = shut(gates_of(then.view.turns[turn_id], then, scene.now_ms))
    # that the changed limit is full again goes without saying
    others = [gate for gate in gates if gate.name != name.partition(":")[0]]
    reasons = [bare_gate_words(gate, scene.view.deck) for gate in others or gates]
    return _name(turn_id, scene) + (f" ({reasons[0]})" if reasons else "")


def _name(turn_id: int, scene: Scene) -> str:
    return f"#{turn_id} {scene.name_of(scene.view.turns[turn_id])}"
