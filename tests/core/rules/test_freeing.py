"""What would be free if a turn ended is what is free once it has."""

from __future__ import annotations

from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.consequences import message_turn
from batchdeck.core.rules.freeing import frees_alone, without
from batchdeck.core.rules.gates import evaluate, shut
from tests.support.builders import NOW, StateBuilder, folder


def test_without_a_turn_every_gate_is_as_after_its_end() -> None:
    deck = StateBuilder(limit=2)
    deck.agent("coder", 1)
    deck.agent("tester", 2)
    running = deck.running("coder", target="issue-1", folder=folder("/repo"))
    deck.running("tester")
    waiting = deck.turn("coder", target="issue-1", folder=folder("/repo/docs"))
    supposed = without(deck.state.publish(NOW), {running.id})
    deck.change(running, state=TurnState.SUCCEEDED, ended_ms=NOW)
    deck.state.revision += 1
    real = deck.state.publish(NOW)
    assert evaluate(waiting, supposed, NOW) == evaluate(waiting, real, NOW)
    assert supposed.running == real.running


def test_the_one_holder_that_frees_everything_is_found() -> None:
    deck = StateBuilder(limit=4)
    deck.agent("coder", 2)
    deck.running("coder")
    in_the_way = deck.running("coder", folder=folder("/repo"))
    waiting = deck.turn("coder", folder=folder("/repo/docs"))
    view = deck.state.publish(NOW)
    found = frees_alone(waiting, view, shut(evaluate(waiting, view, NOW)), NOW)
    assert found is not None
    assert found.turn == in_the_way.id


def test_nobody_frees_what_two_keep_shut() -> None:
    deck = StateBuilder(limit=4)
    deck.agent("coder", 1)
    deck.running("coder")
    other = deck.running("coder")
    message = message_turn(deck.state.publish(NOW), "coder", conversation=other.conversation)
    view = deck.state.publish(NOW)
    assert frees_alone(message, view, shut(evaluate(message, view, NOW)), NOW) is None
