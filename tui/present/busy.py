"""The busy prompt in words: who is in the way, what queueing means, what sending now passes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from batchdeck.core.model.gate import CAPACITY, Gate, Holder
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.consequences import BusyAnswer
from batchdeck.core.rules.order import ordinal
from batchdeck.tui.present.addressee import Addressee
from batchdeck.tui.present.durations import ago, stopwatch, waited
from batchdeck.tui.present.fitting import short_path
from batchdeck.tui.present.gates import bare_gate_words
from batchdeck.tui.present.scene import Scene

_MOST_HOLDERS = 5


def standing_lines(answer: BusyAnswer, scene: Scene, most: int = 9) -> list[str]:
    """Each shut gate, and below them who holds them; a holder is named once.

    Of several gates, each holder's line says which it holds. `most`: lines that there is room for.
    """
    lines: list[str] = []
    held: dict[int, list[str]] = {}
    holders: dict[int, Holder] = {}
    for gate in answer.gates:
        lines.append(_gate_line(gate, scene.view.deck))
        for holder in gate.holders:
            holders.setdefault(holder.turn, holder)
            held.setdefault(holder.turn, []).append(gate.name.replace("_", " "))
    several = sum(bool(gate.holders) for gate in answer.gates) > 1
    room = max(1, min(_MOST_HOLDERS, most - len(lines)))
    shown = room if len(holders) <= room else max(1, room - 1)
    for turn, holder in islice(holders.items(), shown):
        gates = f"  ({', '.join(held[turn])})" if several else ""
        lines.append(f"  {_holder_line(holder, scene)}{gates}")
    if len(holders) > shown:
        lines.append(f"  and {len(holders) - shown} more")
    return lines


def _gate_line(gate: Gate, deck: str) -> str:
    """The gate without its holders; one that nobody holds says when it opens."""
    words = bare_gate_words(gate, deck)
    if gate.holders or not gate.frees or gate.frees in words:
        return words
    return f"{words}, opens {gate.frees}"


def _holder_line(holder: Holder, scene: Scene) -> str:
    turn = scene.view.turns.get(holder.turn)
    name = (holder.task or "") if turn is None else scene.name_of(turn)
    since = scene.now_ms - holder.since_ms
    is_queued = turn is not None and turn.state is TurnState.QUEUED
    parts = [f"#{holder.turn}", name, f"queued {waited(since)}" if is_queued else stopwatch(since)]
    pulse = scene.view.pulses.get(holder.turn)
    if holder.forced:
        parts.append("forced")
    if pulse is not None:
        parts.append(f"last output {ago(scene.now_ms - pulse.at_ms)}")
    return "  ".join(part for part in parts if part)


def queue_line(answer: BusyAnswer, agent: str, no_use: str = "") -> str:
    """Which place the message would get. `no_use`: that going next gives no other one."""
    behind = answer.behind
    others = f"before {behind} turn{'s' * (behind != 1)} of {agent}, " if behind > 0 else ""
    return f"Queued, yours goes {ordinal(answer.position)}{no_use}: {others}after what runs."


def no_use_in_front(answer: BusyAnswer, front: int) -> str:
    """That it changes nothing to go next, to be said behind the place; nothing: it does.

    `front`: the place that would give.
    """
    if answer.free or front < answer.position:
        return ""
    if answer.position == 1:
        return ", with Next in queue too"
    return ", with Next in queue too (its conversation goes in order)"


def force_line(answer: BusyAnswer, deck: str, folder: str | None = None) -> str:
    """What sending now passes, or why it cannot be done. `folder`: where it would work alone."""
    if answer.passable:
        passed = ", ".join(_passed(gate) for gate in answer.gates)
        alone = f" Nobody else is in {short_path(folder, deck)}." if folder else ""
        return f"Sending now passes: {passed}. Nothing else stands in the way.{alone}"
    return f"It cannot be sent now: {_why_not(answer.gates, deck)}."


def _passed(gate: Gate) -> str:
    numbers = "" if gate.used is None else f" ({gate.used + 1}/{gate.limit})"
    return f"{gate.name} {gate.subject}".strip() + numbers


def _why_not(gates: Sequence[Gate], deck: str) -> str:
    stubborn = next(gate for gate in gates if not gate.passable)
    if stubborn.name not in CAPACITY or stubborn.limit == 0:
        return bare_gate_words(stubborn, deck)
    return f"{stubborn.subject or 'the agent'} runs one turn at a time"


def title(answer: BusyAnswer, addressee: Addressee) -> str:
    return f"{addressee.agent} is {'free' if answer.free else 'busy'}"
