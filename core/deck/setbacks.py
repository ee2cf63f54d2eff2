"""What becomes of the letters of a round that failed: which are tried again, and which are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.deck.answering import refusal
from batchdeck.core.deck.letters import (
    CommandLetter,
    Ended,
    Forget,
    Found,
    Judged,
    Letter,
    Wants,
)
from batchdeck.core.errors import StoreError
from batchdeck.core.model.permission import Decision
from batchdeck.core.model.turn import TurnState

_BY_ITS_WORD = frozenset(
    {TurnState.SUCCEEDED, TurnState.FAILED, TurnState.INCOMPLETE, TurnState.WAITING}
)
UNREADABLE = "what the agent reported could not be written down; see batchdeck's log"


def failed_words(error: Exception) -> str:
    """A fault of ours, for the operator."""
    return f"batchdeck itself failed ({type(error).__name__}); see the log"


def survivors(letters: Sequence[Letter], error: Exception) -> list[Letter] | None:
    """The letters to carry out again, one by one; None where none of them can be the cause.

    Of several, each is tried alone. One that fails alone is the cause: a command is refused; the
    news of an attempt's end is told again without what the agent said; other news is dropped, for
    it will be told again.
    """
    if len(letters) > 1:
        return list(letters)
    for letter in letters:
        match letter:
            case CommandLetter():
                letter.answer(refusal(StoreError(f"{failed_words(error)}. Nothing was changed.")))
                return []
            case Ended() if letter.outcome != (bare := _bare(letter.outcome)):
                return [replace(letter, outcome=bare)]
            case Ended() | Judged():
                return None
            case Found() | Forget():
                letter.done.set()
            case Wants():
                letter.reply.give(Decision.DENY)
    return [] if letters else None


def _bare(outcome: Outcome) -> Outcome:
    """An outcome without anything that an agent can have made up."""
    if outcome.state not in _BY_ITS_WORD:
        return Outcome(outcome.state, outcome.end, if_lost=outcome.if_lost)
    return Outcome(TurnState.FAILED, outcome.end, error=UNREADABLE)
