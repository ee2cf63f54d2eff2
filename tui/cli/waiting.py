"""What a run without a screen waits for: who has to do what, with the commands for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from shlex import quote

from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.blocker import is_open
from batchdeck.core.model.hold import END_DRAIN
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.budgets import closed_batches
from batchdeck.core.rules.gates import evaluate, shut
from batchdeck.core.text import clean_line, counted
from batchdeck.core.view import DeckView
from batchdeck.tui.cli.lines import LONGEST_WORDS
from batchdeck.tui.present.gates import gate_words
from batchdeck.tui.present.limits import queued_under

MOST_NAMED = 3
"""Turns, or blockers, that are named; of the others their number is said."""


def waits_for(view: DeckView, now_ms: int) -> str:
    """What a person must do before anything goes on; empty: nothing is unfinished.

    Args:
        now_ms: Wall clock, milliseconds.
    """
    parts = [*_asks(view), *_blockers(view), *_holds(view), *_drain(view), *_held_turns(view)]
    parts += [*_closed_limits(view), *_budgets(view), *_backlog(view)]
    parts = parts or _first_in_line(view, now_ms)
    return clean_line("waits for you: " + "; ".join(parts), LONGEST_WORDS) if parts else ""


def _asks(view: DeckView) -> list[str]:
    return [
        f"#{ask.turn} asks something (batchdeck ask answer {ask.id} …)"
        for ask in view.asks.values()
    ]


def _blockers(view: DeckView) -> list[str]:
    """Those of which an agent's question is not shown already."""
    words = []
    for blocker in view.blockers.values():
        task = view.tasks.get(blocker.task)
        if task is not None and is_open(blocker) and blocker.ask not in view.asks:
            how = f"(batchdeck task answer {quote(task.name)} …)"
            words.append(f"{task.key} is blocked: {blocker.question} {how}")
    return _some(words, "more task is", "more tasks are", "blocked (batchdeck tasks)")


def _holds(view: DeckView) -> list[str]:
    words = []
    for hold in view.holds.values():
        reason = f": {hold.reason}" if hold.reason else ""
        name = hold.named
        words.append(f"{name} is held by {hold.by}{reason} (batchdeck release {quote(name)})")
    return words


def _drain(view: DeckView) -> list[str]:
    return [f"the deck is draining ({END_DRAIN})"] if view.draining else []


def _held_turns(view: DeckView) -> list[str]:
    words = []
    for turn in view.turns.values():
        if turn.ended_ms is None and (turn.held_by or not turn.authorised):
            how = f"is held by {turn.held_by}" if turn.held_by else "is not authorised yet"
            words.append(f"{_name(turn, view)} {how} (batchdeck release '#{turn.id}')")
    return _some(words, "more turn is", "more turns are", "held (batchdeck turns)")


def _some(words: Sequence[str], one: str, many: str, ending: str) -> list[str]:
    more = len(words) - MOST_NAMED
    named = list(words[:MOST_NAMED])
    return [*named, f"{counted(more, one, many)} {ending}"] if more > 0 else named


def _closed_limits(view: DeckView) -> list[str]:
    closed = [limit.name for limit in view.limits.values() if limit.value == 0]
    return [
        f"{name} is closed (batchdeck limit {name}=1)"
        for name in closed
        if queued_under(view, name)
    ]


def _budgets(view: DeckView) -> list[str]:
    return [
        f"{batch} has used up its budget (batchdeck release {quote(f'budget:{batch}')})"
        for batch in sorted(closed_batches(view.budgets))
        if _is_at_work(view, batch)
    ]


def _backlog(view: DeckView) -> list[str]:
    resting = [
        task
        for task in view.tasks.values()
        if task.status is Status.BACKLOG and _is_at_work(view, task.batch)
    ]
    first = {task.batch: task for task in reversed(resting)}
    numbers = Counter(task.batch for task in resting)
    return [
        f"{batch} has {counted(number, 'task')} in BACKLOG "
        f"(batchdeck task status {quote(first[batch].name)} READY)"
        for batch, number in numbers.items()
    ]


def _is_at_work(view: DeckView, batch: str) -> bool:
    found = view.batches.get(batch)
    return found is not None and found.state is BatchState.RUNNING


def _first_in_line(view: DeckView, now_ms: int) -> list[str]:
    """Nothing is known that only a person can do: what the first turn in line waits for."""
    queued = [turn for turn in view.turns.values() if turn.state is TurnState.QUEUED]
    if not queued:
        return []
    turn = min(queued, key=lambda other: other.service_key)
    gates = shut(evaluate(turn, view, now_ms))
    words = ", ".join(gate_words(gate, view.deck) for gate in gates[:MOST_NAMED])
    return [f"{_name(turn, view)}: {words} (batchdeck why '#{turn.id}')"] if gates else []


def _name(turn: Turn, view: DeckView) -> str:
    task = None if turn.task is None else view.tasks.get(turn.task)
    return f"#{turn.id}" if task is None else f"#{turn.id} {task.key}"
