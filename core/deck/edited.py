"""Turns whose text was being edited when their supervisor ended: nobody edits them any more."""

from __future__ import annotations

from batchdeck.core.commands import ReleaseHold
from batchdeck.core.deck.engine import Engine
from batchdeck.core.model.hold import OURSELVES, is_for_editing
from batchdeck.core.model.turn import TurnState


async def release_edited(engine: Engine) -> None:
    """Lets them go in their turn, as they read; whoever edits ends with the supervisor."""
    for turn in tuple(engine.view.turns.values()):
        if turn.state is TurnState.QUEUED and is_for_editing(turn.held_by):
            await engine.submit(ReleaseHold(what=f"turn:{turn.id}", by=OURSELVES))
