"""The busy prompt in words: who is in the way, what queueing means, what sending now passes."""

from __future__ import annotations

from collections.abc import Sequence

from batchdeck.core.model.gate import CAPACITY, Gate, Holder
from batchdeck.core.rules.consequences import BusyAnswer
from batchdeck.core.rules.order import ordinal
from batchdeck.tui.present.addressee import Addressee
from batchdeck.tui.present.durations import ago, stopwatch
from batchdeck.tui.present.fitting import short_path
from batchdeck.tui.present.gates import gate_words
from batchdeck.tui.present.scene import Scene

_MOST_HOLDERS = 4


def standing_lines(answer: BusyAnswer, scene: Scene) -> list[str]:
    """Each shut gate, and below it who holds it; a holder is named once."""
    lines: list[str] = []
    named: set[int] = set()
    for gate in answer.gates:
        lines.append(gate_words(gate, scene.view.deck))
        fresh = [holder for holder in gate.holders if holder.turn not in named]
        named.update(holder.turn for holder in fresh)
        lines += [f"  {_holder_line(holder, scene)}" for holder in fresh[:_MOST_HOLDERS]]
        if len(fresh) > _MOST_HOLDERS:
            lines.append(f"  and {len(fresh) - _MOST_HOLDERS} more")
        if not gate.holders and gate.frees:
            lines.append(f"  opens {gate.frees}")
    return lines


def _holder_line(holder: Holder, scene: Scene) -> str:
    parts = [f"#{holder.turn}", holder.task or "", stopwatch(scene.now_ms - holder.since_ms)]
    pulse = scene.view.pulses.get(holder.turn)
    if holder.forced:
        parts.append("forced")
    if pulse is not None:
        parts.append(f"last output {ago(scene.now_ms - pulse.at_ms)}")
    return "  ".join(part for part in parts if part)


def queue_line(answer: BusyAnswer, agent: str) -> str:
    """Which place the message would get."""
    behind = answer.behind
    others = f"before {behind} turn{'s' * (behind != 1)} of {agent}, " if behind > 0 else ""
    return f"Queued, yours goes {ordinal(answer.position)}: {others}after what runs."


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
        return gate_words(stubborn, deck)
    return f"{stubborn.subject or 'the agent'} runs one turn at a time"


def title(answer: BusyAnswer, addressee: Addressee) -> str:
    return f"{addressee.agent} is {'free' if answer.free else 'busy'}"
