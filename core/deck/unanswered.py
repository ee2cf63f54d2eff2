"""What becomes of questions where no person is there to answer them: they count as failed."""

from __future__ import annotations

from batchdeck.core.deck.blocking import close_ask
from batchdeck.core.deck.losing import FAIL, answer_lost
from batchdeck.core.deck.outcomes import end_waiting
from batchdeck.core.deck.work import Work
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.hold import OURSELVES
from batchdeck.core.model.turn import Turn, TurnState


def words_of_unanswered(question: str) -> str:
    """The error of a turn that asked `question`."""
    return f"asked, and nobody is there to answer: {question}"


def fail_open_asks(work: Work) -> None:
    """Those that are open from before fail as those that are asked now do.

    One of a live agent is left: it ends with its agent's process.
    """
    for ask in [ask for ask in work.state.asks.values() if not ask.alive]:
        _fail(work, ask, work.state.turns[ask.turn])


def _fail(work: Work, ask: Ask, turn: Turn) -> None:
    if turn.state is TurnState.LOST:
        answer_lost(work, ask, turn, FAIL, OURSELVES)
        return
    close_ask(work, ask, AskState.CANCELLED, None, OURSELVES)
    work.emit("ask.cancelled", turn, ask=str(ask.id))
    end_waiting(work, turn, TurnState.FAILED, words_of_unanswered(ask.question))
