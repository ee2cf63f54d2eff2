"""Receipts on their way back: completed after the round's admissions, or kept until a turn ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from batchdeck.core.commands import Receipt, StopTurn
from batchdeck.core.deck.letters import CommandLetter
from batchdeck.core.deck.state import DeckState
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.order import place


class Answers:
    """Answers letters once what they asked for is on disk; a stop, once the turn has ended."""

    def __init__(self) -> None:
        self._until_end: dict[int, list[CommandLetter]] = {}

    def __bool__(self) -> bool:
        """Whether somebody waits for a turn's end."""
        return bool(self._until_end)

    def give(
        self, receipts: Sequence[tuple[CommandLetter, Receipt]], state: DeckState, now_ms: int
    ) -> None:
        """Answers what a round has carried out."""
        for letter, receipt in receipts:
            if receipt.accepted and isinstance(letter.command, StopTurn) and receipt.turn:
                if not _has_ended(receipt.turn, state):
                    self._until_end.setdefault(receipt.turn, []).append(letter)
                    continue
                receipt = _stopped(receipt.turn, state)
            letter.answer(_as_it_is_now(receipt, state, now_ms))

    def settle(self, state: DeckState) -> None:
        """Answers those whose turn has ended meanwhile."""
        for turn in [turn for turn in self._until_end if _has_ended(turn, state)]:
            for letter in self._until_end.pop(turn):
                letter.answer(_stopped(turn, state))

    def give_up(self) -> None:
        """Answers the rest: the deck has closed."""
        for letters in self._until_end.values():
            for letter in letters:
                letter.answer(closed())
        self._until_end.clear()


def _as_it_is_now(receipt: Receipt, state: DeckState, now_ms: int) -> Receipt:
    """A receipt with the turn's state after the round's admissions, and its place in the queue."""
    turn = None if receipt.turn is None or not receipt.accepted else state.turns.get(receipt.turn)
    if turn is None:
        return receipt
    position = receipt.position
    if turn.state is not TurnState.QUEUED:
        position = None
    elif position is None:
        position = place(turn, state.snapshot(now_ms))
    if turn.state is receipt.state:
        return replace(receipt, position=position)
    return replace(receipt, state=turn.state, position=position, message=f"#{turn.id} {turn.state}")


def _has_ended(turn_id: int, state: DeckState) -> bool:
    turn = state.turns.get(turn_id)
    return turn is None or turn.ended_ms is not None


def _stopped(turn_id: int, state: DeckState) -> Receipt:
    turn = state.turns.get(turn_id)
    ended = None if turn is None else turn.state
    return Receipt(accepted=True, turn=turn_id, state=ended, message=f"#{turn_id} {ended}")


def refusal(error: BatchdeckError) -> Receipt:
    """An error as an answer."""
    answer = getattr(error, "answer", None)
    return Receipt(
        accepted=False,
        error=error.code,
        message=error.message,
        exit_code=error.exit_code,
        gates=() if answer is None else answer.gates,
        position=None if answer is None else answer.position,
    )


def closed() -> Receipt:
    """The answer of a deck that is closing, or has closed."""
    return Receipt(accepted=False, error="stopped", message="The deck is closing.", exit_code=4)


def receipt_text(receipt: Receipt) -> str:
    """What was accepted, as it is stored."""
    fields = asdict(replace(receipt, gates=())).items()  # what was accepted stands behind no gate
    return json.dumps({k: v for k, v in fields if v is not None and v != () and v != ""})


def receipt_from(text: str) -> Receipt:
    """The reverse of `receipt_text`."""
    fields: dict[str, Any] = json.loads(text)
    state = fields.pop("state", None)
    bypassed = tuple(fields.pop("bypassed", ()))
    return Receipt(**fields, bypassed=bypassed, state=None if state is None else TurnState(state))
