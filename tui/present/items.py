"""The items of each foreach as rows: their steps as a strip, what they wrote, the barrier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from batchdeck.core.model.batch import Batch
from batchdeck.core.model.limit import items_limit, outstanding_limit
from batchdeck.core.model.task import COMPLETED, Status, Task
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.items import Stage, stage_of
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.rules.quiescing import quiesced
from batchdeck.core.text import counted
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.limit_change import LimitChange, limit_cell_of
from batchdeck.tui.present.limits import slots
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.turns import SYMBOLS, state_word, turn_symbol, turn_time, turn_tone

LATER = "·"
"""A step that has not come yet."""

_AT_WORK = (Stage.WAITING, Stage.ACTIVE, Stage.RETURNING, Stage.RETRIED)


class ItemKey(NamedTuple):
    """A row: a batch's own (`task` 0), or one of its items."""

    batch: str
    task: int = 0


class Counts(NamedTuple):
    """What a foreach's items come to."""

    done: int = 0
    total: int = 0
    left: int = 0
    """Items that have not come to their end."""


class Overview(NamedTuple):
    """All rows there are, and what each foreach comes to."""

    keys: tuple[ItemKey, ...]
    counts: dict[str, Counts]


def overview(view: DeckView) -> Overview:
    """Each foreach, and below it its items: those at work, failed, waiting, done; in item order."""
    found: dict[str, list[tuple[int, int, int]]] = {batch: [] for batch in view.items}
    counts = {batch: Counts() for batch in view.items}
    for task in view.tasks.values():
        if task.index is None or task.batch not in found:
            continue
        turn = _turn(task, view)
        found[task.batch].append((_rank(task, turn), task.index, task.id))
        done, total, left = counts[task.batch]
        over = stage_of(task, turn) is Stage.OVER
        counts[task.batch] = Counts(done + (task.status in COMPLETED), total + 1, left + (not over))
    keys: list[ItemKey] = []
    for batch in reversed(found):
        keys.append(ItemKey(batch))
        keys += (ItemKey(batch, task) for _, _, task in sorted(found[batch]))
    return Overview(tuple(keys), counts)


def _turn(task: Task, view: DeckView) -> Turn | None:
    return None if task.turn is None else view.turns.get(task.turn)


def _rank(task: Task, turn: Turn | None) -> int:
    if task.status in COMPLETED:
        return 3
    stage = stage_of(task, turn)
    if stage in _AT_WORK:
        return 0
    return 1 if task.status is Status.FAILED else 2


def item_row(
    key: ItemKey, counts: Mapping[str, Counts], scene: Scene, change: LimitChange | None = None
) -> Row | None:
    """The cells of the items' table: item, steps, state, agent, time, what it wrote.

    None: the item is not known any more.
    """
    batch = scene.view.batches.get(key.batch)
    if batch is None or batch.foreach is None or batch.name not in scene.view.items:
        return None
    if not key.task:
        return _batch_row(batch, counts.get(batch.name, Counts()), scene, change)
    task = scene.view.tasks.get(key.task)
    return None if task is None else _item_row(task, batch, scene)


def _batch_row(batch: Batch, counts: Counts, scene: Scene, change: LimitChange | None) -> Row:
    view = scene.view
    items = view.items[batch.name]
    done, total, left = counts
    name = items_limit(batch.name)
    begun = slots(items.outstanding, effective_limit(view, outstanding_limit(batch.name)))
    words, tone = barrier_words(batch, left, view)
    return (
        Cell(batch.name),
        Cell(f"{done}/{total}", Tone.DONE if done == total else Tone.PLAIN),
        limit_cell_of(name, change, items.active, effective_limit(view, name)),
        Cell(""),
        Cell(""),
        Cell(f"begun {begun} · {words}", tone),
    )


def barrier_words(batch: Batch, left: int, view: DeckView) -> tuple[str, Tone]:
    """Where the barrier of a foreach stands, in words. `left`: items that have not ended."""
    if batch.broken is not None:
        return f"makes no sense: {batch.broken}", Tone.ALERT
    if batch.committed is not None:
        commit = batch.committed
        values = counted(commit.patches, "value")
        return f"committed {values} of {counted(commit.items, 'item')}", Tone.DONE
    refused = view.items[batch.name].refused
    if refused is not None:
        return refused, Tone.FAILED
    if batch.stopped_admitting:
        return "nothing is committed: an item failed", Tone.FAILED
    if batch.name in quiesced(view.asks.values(), view.turns, view.batches):
        return "asks you: nothing begins until then", Tone.NEEDS
    if left:
        return f"barrier waits for {left}", Tone.MUTED
    return "barrier is judged", Tone.RUNNING


def _item_row(task: Task, batch: Batch, scene: Scene) -> Row:
    turn = _turn(task, scene.view)
    tone = _tone(task, turn, scene)
    state = task.status.value.lower() if turn is None else state_word(turn, scene)
    words = task.error if task.status is Status.FAILED and task.error else task.wrote
    return (
        Cell(f"  {task.index} {_name(task)}", Tone.PLAIN),
        Cell(strip(task, batch, scene), tone),
        Cell("done" if task.status in COMPLETED else state, tone),
        Cell(task.agent, Tone.MUTED),
        Cell("" if turn is None else turn_time(turn, scene)),
        Cell(words, Tone.FAILED if task.status is Status.FAILED else Tone.PLAIN),
    )


def _name(task: Task) -> str:
    """The item in a word; its step stands in the strip."""
    return task.title.rpartition(" · ")[0] or task.title


def _tone(task: Task, turn: Turn | None, scene: Scene) -> Tone:
    if task.status in COMPLETED:
        return Tone.DONE
    if turn is None or task.status is Status.FAILED:
        return Tone.FAILED if task.status is Status.FAILED else Tone.MUTED
    return turn_tone(turn, scene)


def strip(task: Task, batch: Batch, scene: Scene) -> str:
    """One sign per step: what is done, the one the item is at, and what comes later."""
    steps = 0 if batch.foreach is None else len(batch.foreach.steps)
    if task.status in COMPLETED:
        return _DONE * (task.step + 1) + LATER * (steps - task.step - 1)
    turn = _turn(task, scene.view)
    stage = stage_of(task, turn)
    at = LATER if stage is Stage.IDLE or turn is None else turn_symbol(turn, scene)
    if stage is Stage.UNBEGUN and turn is not None and turn.held_by is None:
        chosen = turn.id in scene.standing.items(batch.name).chosen
        at = at if chosen else LATER
    if task.status is Status.FAILED and stage is Stage.OVER:
        at = _FAILED
    return _DONE * task.step + at + LATER * (steps - task.step - 1)


_DONE, _FAILED = SYMBOLS[TurnState.SUCCEEDED], SYMBOLS[TurnState.FAILED]
