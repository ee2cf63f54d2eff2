"""Batches that wait for a person: an agent of theirs has asked, and nothing new is admitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import Batch, Interrupt
from batchdeck.core.model.turn import Turn, TurnState


def quiesced(
    asks: Iterable[Ask], turns: Mapping[int, Turn], batches: Mapping[str, Batch]
) -> frozenset[str]:
    """The batches with `interrupt: quiesce` of which an agent's question is open.

    What batchdeck itself asks, about a turn whose process was lost, quiesces nothing, nor does a
    permission that a running agent wants: it keeps its own turn, and nobody else's.
    """
    asking = (turns.get(ask.turn) for ask in asks if not ask.alive)
    return frozenset(
        turn.batch
        for turn in asking
        if turn is not None
        and turn.batch is not None
        and turn.state is not TurnState.LOST
        and batches[turn.batch].interrupt is Interrupt.QUIESCE
    )
