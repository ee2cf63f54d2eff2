"""The invariants, checked purely from what stands in memory, on disk and in hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from batchdeck.core.deck.closing import closed_slots
from batchdeck.core.deck.scheduler import Scheduler
from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.line import lines_of
from batchdeck.core.model.task import ADMISSIBLE, Task
from batchdeck.core.model.turn import DECIDES_TASK, ENDED, LIVE, Turn, TurnState
from batchdeck.core.rules.folders import overlaps
from batchdeck.core.rules.standing import limit_names


@dataclass(frozen=True, slots=True)
class Violation:
    """One invariant that does not hold."""

    kind: str
    """counts, slots, queue, disk, order, folder, stranded task or stranded turn."""
    words: str
    """One line for a person."""
    turn: int | None = None
    task: int | None = None


def violations(
    state: DeckState,
    scheduler: Scheduler,
    *,
    on_disk: Collection[int],
    in_hand: Collection[int],
) -> list[Violation]:
    """Everything that is not as it must be.

    `on_disk`: the turns that the file says are running; `in_hand`: those whose attempt somebody
    in this process waits for.
    """
    live = [turn for turn in state.turns.values() if turn.state in LIVE]
    return [
        *_disk(live, on_disk),
        *_counts(state, live),
        *_slots(scheduler, live),
        *_closed(state, scheduler),
        *_queue(state, scheduler),
        *_order(state, live),
        *_folders(state, live),
        *_stranded_turns(live, in_hand),
        *_stranded_tasks(state),
    ]


def _disk(live: list[Turn], on_disk: Collection[int]) -> Iterator[Violation]:
    memory = {turn.id for turn in live}
    for turn in sorted(memory.symmetric_difference(on_disk)):
        where = "in memory and not on disk" if turn in memory else "on disk and not in memory"
        yield Violation("disk", f"#{turn} is running {where}", turn)


def _counts(state: DeckState, live: list[Turn]) -> Iterator[Violation]:
    """I1: the numbers that are shown are those of the rows."""
    if set(state.live) != {turn.id for turn in live}:
        yield Violation("counts", "the list of running turns is not that of the rows")
    running: Counter[str] = Counter()
    for turn in live:
        running.update(limit_names(turn))
    for name in running.keys() | state.running_by.keys():
        shown = state.running_by.get(name, 0)
        if shown != running[name]:
            yield Violation("counts", f"{name} shows {shown} running, its rows are {running[name]}")
    for turn_state in set(TurnState) - ENDED:
        rows = sum(turn.state is turn_state for turn in state.turns.values())
        if state.counts.get(turn_state, 0) != rows:
            shown = state.counts.get(turn_state, 0)
            yield Violation("counts", f"{shown} turns are counted as {turn_state}, {rows} are")


def _slots(scheduler: Scheduler, live: list[Turn]) -> Iterator[Violation]:
    """I5: a slot is taken by a running turn, or by nothing."""
    held: Counter[str] = Counter()
    for turn in live:
        held.update(limit_names(turn))
    for name, taken in scheduler.taken().items():
        if taken != held[name]:
            yield Violation("slots", f"{name}: {taken} slots are taken by {held[name]} turns")


def _closed(state: DeckState, scheduler: Scheduler) -> Iterator[Violation]:
    """What admits nothing is what is held, used up or waited for, and nothing else."""
    wanted = closed_slots(state, state.closed_as_of_ms)
    for name in sorted(wanted ^ scheduler.closed()):
        words = "open and should be closed" if name in wanted else "closed and should be open"
        yield Violation("slots", f"{name} is {words}")


def _queue(state: DeckState, scheduler: Scheduler) -> Iterator[Violation]:
    """What is started is what the row says now."""
    for turn in scheduler.waiting:
        if state.turns.get(turn.id) is not turn:
            words = f"#{turn.id} would be started as it was before it changed"
            yield Violation("queue", words, turn.id)


def _order(state: DeckState, live: list[Turn]) -> Iterator[Violation]:
    """I4: never two at once of a task, a conversation or a target."""
    begun: dict[str, int] = {}
    for turn in live:
        for name in lines_of(turn):
            other = begun.setdefault(name, turn.id)
            if other != turn.id:
                yield Violation("order", f"#{other} and #{turn.id} run at once in {name}", turn.id)


def _folders(state: DeckState, live: list[Turn]) -> Iterator[Violation]:
    """I7: never two at once in a folder, or in one that contains it."""
    waiting = (state.turns[turn] for turn in state.waiting)
    placed = [turn for turn in (*live, *waiting) if turn.folder is not None]
    for place, turn in enumerate(placed):
        for other in placed[:place]:
            if turn.folder and other.folder and overlaps(turn.folder, other.folder):
                words = f"#{other.id} and #{turn.id} are at once in {turn.folder.path}"
                yield Violation("folder", words, turn.id)


def _stranded_turns(live: list[Turn], in_hand: Collection[int]) -> Iterator[Violation]:
    for turn in live:
        if turn.id not in in_hand:
            yield Violation("stranded turn", f"#{turn.id} runs and nobody waits for it", turn.id)


def _stranded_tasks(state: DeckState) -> Iterator[Violation]:
    active = {
        name
        for name, batch in state.batches.items()
        if batch.state is BatchState.RUNNING and not batch.stopped_admitting
    }
    for task in state.tasks.values():
        if task.status in ADMISSIBLE and task.batch in active and not _has_turn(state, task):
            words = f"{task.name} is {task.status} and has no turn"
            yield Violation("stranded task", words, task=task.id)


def _has_turn(state: DeckState, task: Task) -> bool:
    return any(turn.trigger in DECIDES_TASK for turn in state.open_turns(task))
