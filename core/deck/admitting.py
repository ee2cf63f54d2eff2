"""Items of a foreach on their way in: who may be at work, by the limits, in item order."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from batchdeck.core.deck.items import Items, restore
from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.limit import items_limit, outstanding_limit
from batchdeck.core.model.turn import Turn
from batchdeck.core.rules.items import in_the_way


def know_foreaches(state: DeckState, folders: Iterable[Folder]) -> None:
    """Makes room for the items of each foreach and knows all folders, before rows are put in."""
    state.places = {folder.path: folder for folder in folders}
    for name, batch in state.batches.items():
        if batch.foreach is not None:
            state.foreaches[name] = Items(batch.foreach)


def restore_items(
    state: DeckState, rows: Iterable[tuple[int, int, str, str, str | None, str]]
) -> None:
    """Puts back what unfinished items left, and finds the task of each barrier."""
    if not state.foreaches:
        return
    for task in state.tasks.values():
        if task.barrier and task.batch in state.foreaches:
            state.foreaches[task.batch].barrier = task.id
    for task_id, step, kind, name, reducer, value in rows:
        found = state.tasks.get(task_id)
        items = None if found is None else state.foreaches.get(found.batch)
        if found is not None and items is not None and found.index is not None:
            try:
                row = (task_id, found.index, step, kind, name, reducer, json.loads(value))
            except ValueError:
                batch = state.batches[found.batch]
                words = f"what {found.key} left at step {step + 1} cannot be read"
                state.batches[found.batch] = evolve(batch, broken=batch.broken or words)
                continue
            restore(items, [row])


def admitted_as_item(turn: Turn, state: DeckState) -> bool:
    """Whether an item's turn may start as far as the limits of its foreach go."""
    if turn.batch is None:
        return True
    items = state.foreaches.get(turn.batch)
    return items is None or items.admits(turn)


def choose_items(state: DeckState) -> list[tuple[list[int], list[int]]]:
    """Chooses the items that may be at work now; turns that became free to start, or no longer are.

    Per foreach, in the order of the batches.
    """
    found = [_choose(state, name, items) for name, items in state.foreaches.items()]
    return [*found, *_let_in(state)]


def _let_in(state: DeckState) -> Iterator[tuple[list[int], list[int]]]:
    """Lets those in that items at work wait behind."""
    in_front: Collection[int] = ()
    if state.lines.contended:
        lines = (items.in_line(state.turns) for items in state.foreaches.values())
        in_front = in_the_way(chain.from_iterable(lines), state.lines.first_of)
    for items in state.foreaches.values():
        yield items.let_in(() if items.standing.closed else in_front)


def _choose(state: DeckState, name: str, items: Items) -> tuple[list[int], list[int]]:
    batch = state.batches[name]
    active, outstanding = (
        None if limit is None else limit.value
        for limit in map(state.limits.get, (items_limit(name), outstanding_limit(name)))
    )
    closed = (
        batch.state is not BatchState.RUNNING
        or batch.stopped_admitting
        or batch.adding is not None
        or batch.broken is not None
        or batch.committed is not None
    )
    return items.choose(active, outstanding, closed=closed)
