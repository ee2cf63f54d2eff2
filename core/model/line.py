"""Lines: the turns of one target, or of one conversation, of which one works at a time, in order.

A view has those with two turns or more in `in_order`, by these names.
"""

from __future__ import annotations

from batchdeck.core.model.turn import Turn


def conversation_line(conversation: int) -> str:
    return f"conversation:{conversation}"


def target_line(target: str) -> str:
    return f"target:{target}"


def lines_of(turn: Turn) -> tuple[str, ...]:
    """The lines in which a turn has its place."""
    conversation = conversation_line(turn.conversation)
    return (conversation,) if turn.target is None else (target_line(turn.target), conversation)
