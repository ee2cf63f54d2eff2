"""What the operator is called for: a question, the end of a batch."""

from __future__ import annotations

from typing import NamedTuple

from batchdeck.core.model.ask import Ask
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.scene import Scene


class News(NamedTuple):
    words: str
    tone: Tone


def news(before: DeckView, scene: Scene) -> News | None:
    """The latest of what is new since the view before; a question goes first."""
    view = scene.view
    fresh = [ask for ask in view.asks.values() if ask.id not in before.asks]
    if fresh:
        return News(_ask_words(fresh[-1], scene), Tone.NEEDS)
    ended = [
        batch
        for name, batch in view.batches.items()
        if batch.ended_ms is not None
        and (known := before.batches.get(name)) is not None
        and known.ended_ms is None
    ]
    if not ended:
        return None
    state = ended[-1].state.value.replace("_", " ")
    return News(f"batch {ended[-1].name} is over: {state}", Tone.DONE)


def _ask_words(ask: Ask, scene: Scene) -> str:
    turn = scene.view.turns.get(ask.turn)
    name = f"#{ask.turn}" + ("" if turn is None else f" {scene.name_of(turn)}")
    return f"{name} asks: {ask.headline} (! answers)"
