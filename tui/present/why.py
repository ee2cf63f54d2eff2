"""Why a turn waits, in words: its gates, their holders, and what would follow if one ended."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from batchdeck.core.model.gate import Gate, Holder
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.freeing import frees_alone, without
from batchdeck.core.rules.gates import shut
from batchdeck.core.rules.order import ordinal
from batchdeck.core.rules.plan import start_among
from batchdeck.core.rules.standing import Standing
from batchdeck.tui.present.cells import Cell, Row
from batchdeck.tui.present.durations import stopwatch, waited
from batchdeck.tui.present.gates import WhyLine, frees_line, why_lines
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.turns import state_word, turn_tone, what

_PATIENCE = 2_000
"""Turns in front that are looked at to say whether it would start at once."""
_SENTENCES = {
    TurnState.RUNNING: "It does not wait for a slot: it runs.",
    TurnState.STOPPING: "It does not wait: it is being stopped.",
    TurnState.WAITING: "It waits for your answer (! shows it).",
}


class Why(NamedTuple):
    """What the why screen shows."""

    title: str
    lines: tuple[WhyLine, ...] = ()
    holders: tuple[Holder, ...] = ()
    ending: str = ""
    """The last line: what would free it."""


def why(turn: Turn, scene: Scene) -> Why:
    """Everything there is to say about why a turn waits."""
    name = f"#{turn.id} {scene.name_of(turn)}"
    if turn.state is not TurnState.QUEUED:
        return Why(f"{name} · {state_word(turn, scene)}", ending=_state_words(turn, scene))
    gates = scene.gates(turn)
    holders = {holder.turn: holder for gate in shut(gates) for holder in gate.holders}
    return Why(
        f"why {name} waits · {ordinal(scene.place(turn))}",
        why_lines(gates, scene.view.deck, scene.now_ms),
        tuple(holders.values()),
        _ending(turn, shut(gates), scene),
    )


def _state_words(turn: Turn, scene: Scene) -> str:
    words = what(turn, scene)
    sentence = _SENTENCES.get(turn.state, f"It has ended: {turn.state}.")
    return f"{sentence}\n{words}" if words else sentence


def _ending(turn: Turn, gates: Sequence[Gate], scene: Scene) -> str:
    if not gates:
        return "Every gate is open: it starts next."
    holder = frees_alone(turn, scene.view, gates, scene.now_ms)
    if holder is None:
        free = frees_line(gates)
        return f"Free {free}." if free else ""
    names = ", ".join(gate.name.replace("_", " ") for gate in gates)
    return f"Free when #{holder.turn} ends ({names}). {_then(turn, holder, scene)}"


def _then(turn: Turn, holder: Holder, scene: Scene) -> str:
    """Whether it would be the one that starts: others may stand in front of it."""
    supposed = without(scene.view, {holder.turn})
    standing = Standing(supposed)
    in_front = islice(scene.queues.in_order(), _PATIENCE)
    started = start_among(standing, in_front, scene.now_ms)
    if turn.id in started:
        return "Would then start at once."
    others = [other for other in started if other != turn.id]
    if not others:
        return ""
    first = others[0]
    return f"#{first} {scene.name_of(scene.view.turns[first])} would go first."


def holder_row(holder: Holder, scene: Scene) -> Row:
    """The cells of the holders' table: turn, task, agent, how long, what it does."""
    turn = scene.view.turns.get(holder.turn)
    if turn is None:
        return (Cell(f"#{holder.turn}"),)
    since = scene.now_ms - holder.since_ms
    queued = turn.state is TurnState.QUEUED
    return (
        Cell(f"#{turn.id}"),
        Cell(scene.name_of(turn)),
        Cell(turn.agent),
        Cell(waited(since) if queued else stopwatch(since)),
        Cell(what(turn, scene) or state_word(turn, scene), turn_tone(turn, scene)),
    )
