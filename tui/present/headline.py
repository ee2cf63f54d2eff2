"""The headline: batch, mode, slots, queue, progress, and what needs the operator."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len

from batchdeck.core.model.hold import DECK, OURSELVES
from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.view import DeckView, Spending
from batchdeck.tui.present.budgets import batch_of, is_up, used_words
from batchdeck.tui.present.cells import Cell, Tone
from batchdeck.tui.present.ended import Ended, ended_tasks
from batchdeck.tui.present.estimate import estimate_words
from batchdeck.tui.present.fitting import fit, inert
from batchdeck.tui.present.limit_change import LimitChange, becoming
from batchdeck.tui.present.limits import standing
from batchdeck.tui.present.needs import urgent_count
from batchdeck.tui.present.scene import Scene, active_batches

SLOTS = "slots "
"""How the deck's own limit begins."""
_BAR = 12
_GAP = "  "
_NARROW = 44
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


def headline(scene: Scene, width: int, change: LimitChange | None = None) -> tuple[Cell, ...]:
    """The pieces that fit into `width` cells, the needs at the right end."""
    left, needs = _parts(scene, change), _needs_cell(scene.view, width)
    room = width - (cell_len(needs.text) + 3 if needs.text else 1)
    while len(left) > 1 and _length(left) > room:
        left.remove(max(left, key=lambda part: part.drop))
    if _length(left) > room:
        # only the name is left, and it is longer than the line
        left = [Part(Cell(fit(left[0].cell.text, max(1, room - 1)), left[0].cell.tone))]
    cells: list[Cell] = [Cell(" ")]
    for number, part in enumerate(left):
        cells += [Cell(_GAP)] * (number > 0) + [part.cell]
    if needs.text:
        cells += [Cell(" " * (width - 1 - _length(left) - cell_len(needs.text) - 1)), needs]
    return tuple(cells)


def _length(parts: list[Part]) -> int:
    return sum(cell_len(part.cell.text) for part in parts) + len(_GAP) * (len(parts) - 1)


def _parts(scene: Scene, change: LimitChange | None) -> list[Part]:
    view = scene.view
    ended = ended_at_work(view)
    done, total = ended.done, ended.total
    parts = [
        Part(Cell(_name(view)), 2),
        Part(Cell(mode_words(view), _MODE_TONES.get(view.mode, Tone.ALERT)), 1),
        Part(_slots(view, change), 0),
        Part(Cell(f"queued {view.queued}"), 0),
    ]
    if total:
        parts.append(Part(Cell(f"done {done} of {total}"), 3))
        parts += _not_done(ended)
        if scene.bars:
            parts.append(Part(Cell(_bar(done, total), Tone.DONE), 5))
        parts.append(Part(Cell(f"{100 * done // total}%"), 4))
    parts += [*_budgets(view), *_outside(view)]
    left = total - done - ended.failed - ended.cancelled
    estimate = estimate_words(view, left, scene.now_ms)
    return [*parts, Part(Cell(estimate, Tone.MUTED), 6)] if estimate else parts


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
    return failed + ([Part(Cell(words, Tone.MUTED), 3)] if ended.cancelled else [])


def _budgets(view: DeckView) -> list[Part]:
    """What the batches at work have used of their budgets."""
    active = {batch.name for batch in active_batches(view)}
    return [
        Part(Cell(used_words(name, spending), _spent_tone(spending)), 2 if is_up(spending) else 4)
        for name, spending in view.budgets.items()
        if batch_of(name) in active
    ]


def _spent_tone(spending: Spending) -> Tone:
    return Tone.ALERT if is_up(spending) else Tone.PLAIN


def _outside(view: DeckView) -> list[Part]:
    """What others have done, and a tracker that does not answer."""
    elsewhere = done_elsewhere(view)
    parts = [Part(Cell(f"{elsewhere} done elsewhere", Tone.DONE), 4)] if elsewhere else []
    failing = [tracker for tracker in view.trackers if not tracker.good]
    if failing:
        parts.append(Part(Cell(f"{failing[0].name.partition(' ')[0]} fails: e", Tone.ALERT), 3))
    return parts


def done_elsewhere(view: DeckView) -> int:
    """Tasks of the batches at work that others have completed."""
    active = {batch.name for batch in active_batches(view)}
    tasks = (view.tasks.get(task) for task in view.elsewhere)
    return sum(task is not None and task.batch in active for task in tasks)


def mode_words(view: DeckView) -> str:
    """The mode; a deck that nobody dispatches says so."""
    return view.mode if view.supervised else f"{view.mode}, nobody dispatches"


def held_words(view: DeckView) -> str:
    """How a deck that came up held goes on; a person who held it knows."""
    hold = view.holds.get(DECK)
    if hold is None or hold.by != OURSELVES:
        return ""
    why = "" if view.banner else f": {hold.reason}"
    return f"held until you release it (p, or ! then h){why}"


def _name(view: DeckView) -> str:
    batches = active_batches(view)
    if not batches:
        return "batchdeck"
    name = inert(batches[0].name, 28)
    return name if len(batches) == 1 else f"{name} +{len(batches) - 1}"


def ended_at_work(view: DeckView) -> Ended:
    """How the tasks of the batches at work stand."""
    return ended_tasks(view, (batch.name for batch in active_batches(view)))


def _bar(done: int, total: int) -> str:
    halves = 2 * _BAR * done // total
    full, half = divmod(halves, 2)
    return "━" * full + "╸" * half + "─" * (_BAR - full - half)


def _needs_cell(view: DeckView, width: int) -> Cell:
    count = urgent_count(view)
    if not count:
        return Cell("")
    if width < _NARROW:
        return Cell(f"! {count}", Tone.NEEDS)
    return Cell(f"! {count} need{'s' if count == 1 else ''} you", Tone.NEEDS)
