"""What each kind of letter does to the state, within one round of the writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.commands import Receipt
from batchdeck.core.deck.answering import receipt_text, refusal
from batchdeck.core.deck.committing import carry_out_verdict
from batchdeck.core.deck.following import follow
from batchdeck.core.deck.handling.batches import add_part
from batchdeck.core.deck.handling.commands import carry_out
from batchdeck.core.deck.letters import (
    Audited,
    CommandLetter,
    Ended,
    Forget,
    Found,
    Judged,
    Letter,
    Nobody,
    Part,
    Pulses,
    Started,
    Wants,
)
from batchdeck.core.deck.losing import FAIL, MOST_INTERRUPTIONS, RETRY
from batchdeck.core.deck.mending import mend
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.deck.outcomes import ended
from batchdeck.core.deck.permitting import wants
from batchdeck.core.deck.turns import started
from batchdeck.core.deck.unanswered import fail_open_asks, words_of_unanswered
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.turn import TurnState
from batchdeck.core.points import reached
from batchdeck.core.store import changes as sql


def carry_out_letters(
    letters: Sequence[Letter], work: Work, options: DeckOptions
) -> list[tuple[CommandLetter, Receipt]]:
    """Does what the letters say, in their order; the receipts are to be given once it is saved."""
    receipts: list[tuple[CommandLetter, Receipt]] = []
    for letter in letters:
        match letter:
            case CommandLetter():
                receipt = _receipt(letter, work)
                if receipt is not None:
                    receipts.append((letter, receipt))
            case Part():
                receipt = _settled(letter.letter, work, add_part(work, letter.coming))
                if receipt is not None:
                    receipts.append((letter.letter, receipt))
            case Started():
                turn = work.state.turns.get(letter.turn)
                if turn is not None:
                    started(work, turn, letter.attempt, letter.process)
            case Wants():
                wants(work, letter, nobody=options.no_input)
            case Ended():
                reached("finish.before")
                ended(work, letter.turn, letter.attempt, _judged(letter, options))
            case Found():
                follow(work, letter)
            case Forget():
                work.changes.add(sql.FORGET_EVENTS, (letter.before_ms,))
                work.changes.add(sql.FORGET_COMMANDS, (letter.before_ms,))
            case Audited():
                mend(work, letter.found, letter.adopt)
            case Judged():
                carry_out_verdict(work, letter)
            case Nobody():
                fail_open_asks(work)
            case Pulses():
                work.state.pulses = dict(letter.pulses)
                work.state.touch("pulses")
    return receipts


def _receipt(letter: CommandLetter, work: Work) -> Receipt | None:
    try:
        return _settled(letter, work, carry_out(letter.command, work, letter.found))
    except BatchdeckError as error:
        return refusal(error)


def _settled(letter: CommandLetter, work: Work, receipt: Receipt | None) -> Receipt | None:
    """The receipt of a command, noted; None: a part of it is left for another round."""
    if work.coming is not None:
        work.parts.append(Part(letter, work.coming))
        work.coming = None
        return None
    assert receipt is not None
    command = letter.command
    if receipt.accepted:
        row = (command.id, type(command).__name__, command.by, work.now_ms, receipt_text(receipt))
        work.changes.add(sql.INSERT_COMMAND, row)
    return receipt


def _judged(letter: Ended, options: DeckOptions) -> Outcome:
    """A question that nobody will answer is a failure; a lost turn is as the options say."""
    outcome = letter.outcome
    if outcome.state is TurnState.LOST:
        return replace(outcome, if_lost=_if_lost(letter.interruptions, options))
    if outcome.question is None or not options.no_input:
        return outcome
    words = words_of_unanswered(outcome.question.question)
    return replace(outcome, state=TurnState.FAILED, question=None, error=words)


def _if_lost(interruptions: int, options: DeckOptions) -> str:
    """What becomes of a lost turn; crashes alone never use a task up."""
    wanted = options.on_lost
    if wanted == RETRY and interruptions >= MOST_INTERRUPTIONS:
        wanted = "ask"
    return FAIL if wanted == "ask" and options.no_input else wanted
