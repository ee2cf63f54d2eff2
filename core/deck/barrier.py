"""The barrier of a foreach: judged from what is on disk, committed once, in item order."""

from __future__ import annotations

import gc
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.batch import Batch, BatchState, Commit
from batchdeck.core.model.foreach import Foreach
from batchdeck.core.model.task import Status
from batchdeck.core.rules.barrier import Conflict, Patch, check_patches, fold
from batchdeck.core.store.item_values import Written, read_written


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a barrier came to; exactly one of both is set."""

    commit: Commit | None = None
    fault: str | None = None


class Senseless(Exception):
    """What is stored of a foreach does not fit together; the message says what."""


def is_ripe(state: DeckState, name: str) -> bool:
    """Whether every item has come to its end, and what they wrote waits to be committed."""
    items, batch = state.foreaches[name], state.batches[name]
    return (
        items.over
        and batch.committed is None
        and batch.broken is None
        and batch.adding is None
        and batch.state is BatchState.RUNNING
        and not batch.stopped_admitting
        and name not in state.incomplete
    )


def has_passed(state: DeckState, name: str) -> bool:
    """Whether the batch does not wait for a barrier: there is none, or it is decided."""
    batch = state.batches[name]
    return name not in state.foreaches or batch.committed is not None or is_refused(state, name)


def is_refused(state: DeckState, name: str) -> bool:
    """Whether the barrier was judged, and nothing could be committed."""
    items = state.foreaches.get(name)
    if items is None or items.barrier is None:
        return False
    return state.tasks[items.barrier].status is Status.FAILED


def judge(raw: sqlite3.Connection, batch: Batch) -> Verdict:
    """What the barrier of a batch comes to, from the rows on disk.

    Raises:
        Senseless: what is stored does not fit together.
        sqlite3.Error: it cannot be read.
    """
    collecting = gc.isenabled()
    gc.disable()  # nothing read here is garbage, and looking for some takes as long as reading
    try:
        return _judge(raw, batch)
    finally:
        if collecting:
            gc.enable()


def _judge(raw: sqlite3.Connection, batch: Batch) -> Verdict:
    assert batch.foreach is not None
    written = read_written(raw, batch.name)
    patches = patches_from(written, batch.foreach)
    try:
        check_patches(patches)
        fold(patches)
    except Conflict as conflict:
        return Verdict(fault=f"nothing was committed: {conflict}")
    items = len({one.task for one in written})
    return Verdict(commit=Commit(items, len(written), digest(written)))


def digest(written: Iterable[Written]) -> str:
    """One short text that differs when anything of what was written does."""
    # a value is JSON in ASCII, a path letters and dots: neither holds the marks between them
    rows = (f"{w.item}\x1f{w.step}\x1f{w.path}\x1f{w.reducer}\x1f{w.value}" for w in written)
    return hashlib.sha256("\x1e".join(rows).encode()).hexdigest()[:32]


def patches_from(written: Sequence[Written], plan: Foreach) -> list[Patch]:
    """Stored writes as patches, each held against the plan.

    Raises:
        Senseless: one is not what its step writes, or is no value.
    """
    wanted = [(step.writes, step.reducer) for step in plan.steps]
    kinds = {(one.step, one.path, one.reducer): one for one in reversed(written)}
    for (step, path, reducer), one in kinds.items():
        if not 0 <= step < len(wanted):
            raise Senseless(f"{_which(one)}: there are {len(wanted)} steps")
        if wanted[step] != (path, reducer):
            writes = wanted[step][0]
            raise Senseless(f"{_which(one)} is for {path!r}, and the step writes {writes!r}")
    if not written:
        return []
    _, items, steps, paths, reducers, _ = zip(*written, strict=True)
    return list(map(Patch, items, steps, paths, _values(written), reducers))


def _values(written: Sequence[Written]) -> list[Any]:
    """Their values, read in one go; row by row only to say which cannot be read."""
    try:
        values = json.loads(f"[{','.join(one.value for one in written)}]")
        if len(values) == len(written):
            return list(values)
    except ValueError:
        pass
    return [_value(one) for one in written]


def _value(one: Written) -> Any:
    try:
        return json.loads(one.value)
    except ValueError:
        raise Senseless(f"{_which(one)} cannot be read") from None


def _which(one: Written) -> str:
    return f"what item {one.item} wrote at step {one.step + 1}"


def check_stored(raw: sqlite3.Connection, batch: Batch) -> None:
    """Holds what is stored of a foreach against itself; changes nothing.

    Raises:
        Senseless: it does not fit together.
    """
    if batch.broken is not None:
        raise Senseless(batch.broken)
    if batch.foreach is None:
        return
    written = read_written(raw, batch.name)
    patches_from(written, batch.foreach)
    if batch.committed is None:
        return
    if batch.committed.patches != len(written):
        number, now = batch.committed.patches, len(written)
        raise Senseless(f"{number} writes were committed, and {now} are there")
    if batch.committed.digest != digest(written):
        raise Senseless("what was committed is not what is there")
