"""What is said when the dashboard has gone: how it stands, and how it is taken up again."""

from __future__ import annotations

from batchdeck.core.model.batch import Batch
from batchdeck.core.model.turn import TurnState
from batchdeck.core.text import counted
from batchdeck.core.view import DeckView
from batchdeck.tui.leaving import are_lost, cannot_go_on
from batchdeck.tui.present.ended import EndedTasks
from batchdeck.tui.present.fitting import inert
from batchdeck.tui.present.scene import active_batches

_MOST_BATCHES = 3


def parting_lines(view: DeckView, command: str, *, attached: bool = False) -> list[str]:
    """One or two lines; nothing of a deck on which nothing has ever happened.

    `command` is how this deck is opened again.
    """
    batches = active_batches(view) or tuple(view.batches.values())[-1:]
    told = [_batch_words(view, batch, command, attached) for batch in batches[:_MOST_BATCHES]]
    lines = [" · ".join(told)] if told else []
    if attached:
        going = f"{counted(view.running, 'turn')} running, {view.queued} queued"
        return [*lines, f"The deck goes on without this screen: {going}."]
    if view.running or _queued_to_stay(view) or view.waiting:
        lines.append(f"{_left_words(view)} Take up again: {command}")
    return lines


def _batch_words(view: DeckView, batch: Batch, command: str, attached: bool) -> str:
    if batch.adding is not None and not attached:
        return f"{inert(batch.name, 40)} was not added to its end: run its file again"
    ended = EndedTasks().of(view, [batch.name])
    words = f"{inert(batch.name, 40)}: {ended.words.replace(' · ', ', ')} of {ended.total}"
    if not ended.failed and not ended.cancelled:
        return words
    return f"{words} · {command} tasks --status FAILED"


def half_added_words(view: DeckView) -> str:
    """What becomes of batches that are being added when one leaves; empty: there is none."""
    names = [inert(batch.name, 40) for batch in view.batches.values() if batch.adding is not None]
    if not names:
        return ""
    is_or_are = "is" if len(names) == 1 else "are"
    return f"; {', '.join(names)} {is_or_are} not added to the end: run that file again"


def _queued_to_stay(view: DeckView) -> int:
    """Without the turns of batches that were not added to their end: those are taken away."""
    first = {b.name: b.adding for b in view.batches.values() if b.adding is not None}
    if not first:
        return view.queued
    gone = (
        turn.state is TurnState.QUEUED
        and turn.batch in first
        and (turn.task or 0) >= (first[turn.batch] or 0)
        for turn in view.turns.values()
    )
    return view.queued - sum(gone)


def _left_words(view: DeckView) -> str:
    ending, lost = len(cannot_go_on(view)), len(are_lost(view))
    going, again = view.running - ending, ending - lost
    parts = [f"{counted(going, 'turn')} go{'es' * (going == 1)} on"] if going else []
    if again:
        # an agent without a runner of its own ends with the deck, and its turn is queued again
        parts.append(f"{counted(again, 'turn')} start{'s' * (again == 1)} again next time")
    if lost:
        words = (
            "asks next time whether it starts" if lost == 1 else "ask next time whether they start"
        )
        parts.append(f"{counted(lost, 'turn')} {words} again")
    queued = _queued_to_stay(view)
    if queued:
        noun = "" if parts else " turn" + "s" * (queued != 1)
        parts.append(f"{queued}{noun} wait{'s' * (queued == 1)}")
    if view.waiting:
        parts.append(f"{view.waiting} ask{'s' * (view.waiting == 1)} you")
    return ", ".join(parts) + "."
