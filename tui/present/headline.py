"""The headline: batch, mode, slots, queue, progress, and what needs the operator."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len

from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.issue import TrackerStanding
from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.text import counted
from batchdeck.core.view import DeckView, Spending
from batchdeck.tui.present.budgets import batch_of, is_up, used_words
from batchdeck.tui.present.cells import Cell, Tone
from batchdeck.tui.present.ended import Ended
from batchdeck.tui.present.estimate import estimate_words
from batchdeck.tui.present.fitting import fit, inert, shortened
from batchdeck.tui.present.limit_change import LimitChange, becoming
from batchdeck.tui.present.limits import standing
from batchdeck.tui.present.needs import urgent_count
from batchdeck.tui.present.progress_bar import progress_bar
from batchdeck.tui.present.scene import Scene, active_batches

SLOTS = "slots "
"""How the deck's own limit begins."""
_GAP = "  "
_NARROW = 44
_SHORT_NAME = 12
_READABLE = 26
"""Cells of a reason that say something; they stay longer than how much is done."""
_LEAST_SPARE = 6
"""Cells that must be free before words that were cut go on: fewer would say nothing."""
_WORTH_MORE = 4
"""What is dropped only at this or below stays longer than the words beside the needs' number."""
_WITH_ERRORS = frozenset({BatchState.COMPLETED_WITH_ERRORS, BatchState.FAILED})
_MODE_TONES = {
    "running": Tone.RUNNING,
    "held": Tone.HELD,
    "draining": Tone.ALERT,
    "quiescing": Tone.NEEDS,
    "idle": Tone.MUTED,
    "stopped": Tone.FAILED,
}


class Part(NamedTuple):
    """A piece of the headline; the highest `drop` goes first when it gets narrow."""

    cell: Cell
    drop: int = 0
    shorter: tuple[tuple[str, int], ...] = ()
    """What is kept of it in short, one step after the other, and its drop then."""
    full: str = ""
    """Of one in short: all of it."""


def headline(scene: Scene, width: int, change: LimitChange | None = None) -> tuple[Cell, ...]:
    """The pieces that fit into `width` cells, the needs at the right end."""
    parts = _parts(scene, change)
    long, short = _needs_cells(scene, width)
    needs, left = long, _fitted(parts, _room(long, width))
    with_short = _fitted(parts, _room(short, width))
    if _lasting(with_short) > _lasting(left):
        needs, left = short, with_short
    room = _room(needs, width)
    if _length(left) > room:
        # only the name is left, and it is longer than the line
        left = [Part(Cell(fit(left[0].cell.text, max(1, room - 1)), left[0].cell.tone))]
    cells: list[Cell] = [Cell(" ")]
    for number, part in enumerate(left):
        cells += [Cell(_GAP)] * (number > 0) + [part.cell]
    if needs.text:
        cells += [Cell(" " * (width - 1 - _length(left) - cell_len(needs.text) - 1)), needs]
    return tuple(cells)


def _room(needs: Cell, width: int) -> int:
    return width - (cell_len(needs.text) + 3 if needs.text else 1)


def _lasting(parts: list[Part]) -> int:
    """How many there are that are worth more than the words beside the needs' number."""
    return sum(part.drop <= _WORTH_MORE for part in parts)


def _fitted(parts: list[Part], room: int) -> list[Part]:
    """Gives up what matters least, in short before altogether, until the rest fits."""
    left = list(parts)
    while len(left) > 1 and _length(left) > room:
        at = max(range(len(left)), key=lambda number: left[number].drop)
        left[at : at + 1] = _in_short(left[at])
    for number, part in enumerate(left):
        left[number] = _as_long_as_fits(part, room - _length(left))
    return left


def _in_short(part: Part) -> list[Part]:
    """One step shorter; nothing where there is none."""
    if not part.shorter:
        return []
    words, drop = part.shorter[0]
    full = part.full or part.cell.text
    return [Part(Cell(words, part.cell.tone), drop, part.shorter[1:], full)]


def _as_long_as_fits(part: Part, spare: int) -> Part:
    """One that was cut gets back what there is room for."""
    if not part.full or spare < _LEAST_SPARE:
        return part
    longer = shortened(part.full, cell_len(part.cell.text) + spare)
    return part._replace(cell=Cell(longer, part.cell.tone))


def _length(parts: list[Part]) -> int:
    return sum(cell_len(part.cell.text) for part in parts) + len(_GAP) * (len(parts) - 1)


def _parts(scene: Scene, change: LimitChange | None) -> list[Part]:
    view = scene.view
    ended = scene.ended_at_work
    done, total = ended.done, ended.total
    parts = [
        _name(view),
        _mode(view),
        Part(_slots(view, change), 0),
        Part(Cell(f"queued {view.queued}"), 0),
    ]
    if total:
        parts.append(Part(Cell(f"done {done} of {total}"), 4))
        parts += _not_done(ended)
        if scene.bars:
            parts.append(Part(Cell(progress_bar(done, total), Tone.DONE), 9))
        parts.append(Part(Cell(f"{100 * done // total}%"), 7))
    parts += [*_others(view), *_budgets(view), *_outside(view)]
    left = total - done - ended.failed - ended.cancelled
    estimate = estimate_words(view, left, scene.now_ms)
    return [*parts, Part(Cell(estimate, Tone.MUTED), 8)] if estimate else parts


def _mode(view: DeckView) -> Part:
    """That it runs goes without saying where slots are taken; that it does not is to be known."""
    drop = 2 if view.supervised and view.mode == "running" else 1
    return Part(Cell(mode_words(view), _MODE_TONES.get(view.mode, Tone.ALERT)), drop)


def _slots(view: DeckView, change: LimitChange | None) -> Cell:
    limit = effective_limit(view, GLOBAL)
    words = f"{SLOTS}{view.running}/{limit}"
    if change is not None and change.name == GLOBAL:
        return Cell(becoming(words, change), Tone.NEEDS)
    full = standing(view.running, limit)
    tone = Tone.ALERT if full.startswith(("over", "closed")) else Tone.PLAIN
    return Cell(words + (f" {full}" if full and full != "full" else ""), tone)


def _not_done(ended: Ended) -> list[Part]:
    """Failures stay in sight as long as anything but the slots does."""
    failed = [Part(Cell(f"{ended.failed} failed", Tone.FAILED), 1)] if ended.failed else []
    words = f"{ended.cancelled} cancelled"
    return failed + ([Part(Cell(words, Tone.MUTED), 6)] if ended.cancelled else [])


def _budgets(view: DeckView) -> list[Part]:
    """What the batches at work have used of their budgets."""
    active = {batch.name for batch in active_batches(view)}
    return [
        Part(
            Cell(used_words(name, spending), _spent_tone(spending)),
            2 if is_up(spending) and spending.hard else 5,
        )
        for name, spending in view.budgets.items()
        if batch_of(name) in active
    ]


def _spent_tone(spending: Spending) -> Tone:
    return Tone.ALERT if is_up(spending) else Tone.PLAIN


def _outside(view: DeckView) -> list[Part]:
    """What others have done, and a tracker that does not answer."""
    elsewhere = done_elsewhere(view)
    parts = [Part(Cell(f"{elsewhere} done elsewhere", Tone.DONE), 6)] if elsewhere else []
    return parts + [_failing(tracker) for tracker in view.trackers if not tracker.good][:1]


def _failing(tracker: TrackerStanding) -> Part:
    """Why it fails as far as there is room; the key that shows all of it stands in front."""
    least = f"{tracker.name.partition(' ')[0]} fails (e)"
    words = f"{least}: {inert(tracker.words)}" if tracker.words else least
    readable = shortened(words, cell_len(least) + _READABLE)
    steps = ((least, 1),) if readable == words else ((readable, 2), (least, 1))
    return Part(Cell(words, Tone.ALERT), 3 if readable == words else 6, steps)


def done_elsewhere(view: DeckView) -> int:
    """Tasks of the batches at work that others have completed."""
    active = {batch.name for batch in active_batches(view)}
    tasks = (view.tasks.get(task) for task in view.elsewhere)
    return sum(task is not None and task.batch in active for task in tasks)


def mode_words(view: DeckView) -> str:
    """The mode; a deck that nobody dispatches says so."""
    return view.mode if view.supervised else f"{view.mode}, nobody dispatches"


def _name(view: DeckView) -> Part:
    batches = active_batches(view)
    if not batches:
        return Part(Cell("batchdeck"), 2)
    more = f" +{len(batches) - 1}" if len(batches) > 1 else ""
    name = inert(batches[0].name, 28)
    least = shortened(name, _SHORT_NAME) + more
    return (
        Part(Cell(name + more), 5, ((least, 2),)) if least != name + more else Part(Cell(least), 2)
    )


def _others(view: DeckView) -> list[Part]:
    """None is at work, and the numbers are the latest batch's: how those before it have ended."""
    latest = active_batches(view)[-1:]
    if not latest or latest[0].state is BatchState.RUNNING:
        return []
    others = [batch for batch in view.batches.values() if batch is not latest[0]]
    failed = sum(batch.state in _WITH_ERRORS for batch in others)
    if not others:
        return []
    words = f"{counted(len(others), 'batch', 'batches')} before"
    if not failed:
        return [Part(Cell(words, Tone.MUTED), 9)]
    words += f", {failed} with errors" if len(others) > 1 else ", with errors"
    return [Part(Cell(words, Tone.FAILED), 6)]


def _needs_cells(scene: Scene, width: int) -> tuple[Cell, Cell]:
    """In words, and in short."""
    count = urgent_count(scene.needs)
    if not count:
        return Cell(""), Cell("")
    short = Cell(f"! {count}", Tone.NEEDS)
    if width < _NARROW:
        return short, short
    return Cell(f"! {count} need{'s' if count == 1 else ''} you", Tone.NEEDS), short
