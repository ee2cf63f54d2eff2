"""Tells the model what happened on a deck, in the words of its events, and compares the two."""

from __future__ import annotations

from collections.abc import Iterable

from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.turn import TurnState
from batchdeck.core.store.events import Noted
from tests.core.deck.model import Model, Running


def tell(model: Model, state: DeckState, events: Iterable[Noted]) -> None:
    """Passes on what happened, in the order in which it was recorded."""
    for _, _, kind, turn_id, *_, fields in events:
        turn = state.turns.get(turn_id or 0)
        if turn is None:
            continue
        if kind == "turn.queued":
            model.queue(turn.id, turn.position)
        elif kind == "turn.claimed":
            at_work = Running(
                turn.agent,
                turn.batch,
                turn.folder.path if turn.folder else None,
                turn.conversation,
                turn.target,
                turn.forced,
            )
            model.claim(turn.id, fields["attempt"], at_work)
        elif kind == "attempt.ended" and (
            fields["end"] == "fenced" or fields.get("limited") or turn.state is TurnState.QUEUED
        ):
            model.put_back(turn.id)
        elif kind == "ask.opened" and turn.id in model.running:
            model.ask(turn.id)
        elif kind == "turn.finished":
            model.end(turn.id, str(fields["state"]))


def compare(model: Model, state: DeckState) -> None:
    """The deck is as the model thinks it is."""
    ended = {t.id: str(t.state) for t in state.turns.values() if t.ended_ms is not None}
    tasks = {task.name for task in state.tasks.values()}
    model.conserved(tasks, set(state.live), ended)
