"""Gates in words: the reason line of a waiting turn, and the lines of why it waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from batchdeck.core.model.gate import Gate, GateName, Holder
from batchdeck.core.model.task import Status
from batchdeck.core.rules.order import ordinal
from batchdeck.core.text import counted
from batchdeck.tui.present.budgets import budget_words
from batchdeck.tui.present.durations import stopwatch
from batchdeck.tui.present.fitting import short_path
from batchdeck.tui.present.limits import limit_words

_STATUSES = frozenset(Status)


def reason_line(place: int, gates: Sequence[Gate], deck: str) -> str:
    """`3rd · agent coder 2/2 · folder docs busy (#412)`, from the shut gates in order."""
    if not gates:
        return f"{ordinal(place)} · starts next"
    return " · ".join((ordinal(place), *(gate_words(gate, deck) for gate in gates)))


def gate_words(gate: Gate, deck: str) -> str:
    """One shut gate in a few words, the same on every screen."""
    return _WORDS[gate.name](gate, deck)


def bare_gate_words(gate: Gate, deck: str) -> str:
    """The same where the holders are named elsewhere, or not at all."""
    return gate_words(replace(gate, holders=()), deck)


def _hold(gate: Gate, deck: str) -> str:
    return "; ".join(_hold_words(part) for part in gate.subject.split("; "))


def _hold_words(part: str) -> str:
    if part.startswith("this turn, by "):
        return "held by " + part.removeprefix("this turn, by ")
    if ", by " in part:
        return f"held: {part}"
    return part


def _depends_on(gate: Gate, deck: str) -> str:
    if gate.subject in _STATUSES:
        return f"task is {gate.subject}"
    return f"after {gate.subject}"


def _folder(gate: Gate, deck: str) -> str:
    """Short, for the reason line: `docs busy`, `under docs`, `over docs/api`."""
    holders = _in_brackets(gate.holders)
    if not gate.place:
        return f"folder {short_path(gate.subject, deck)} busy{holders}"
    return f"folder {_where(gate)} {short_path(gate.place, deck)}{holders}"


def _where(gate: Gate) -> str:
    """Where the turn's own folder lies, seen from the one that is occupied."""
    return "under" if gate.subject.startswith(gate.place.rstrip("/") + "/") else "over"


def _target(gate: Gate, deck: str) -> str:
    return f"target {gate.subject}: {gate.used or 0} before it{_in_brackets(gate.holders)}"


def _called(gate: Gate) -> str:
    """The name that steps give a conversation; nothing where it has only a number."""
    _, _, name = gate.subject.partition(" ")
    return name.strip("()")


def _conversation(gate: Gate, deck: str) -> str:
    name = _called(gate)
    if name:
        words = f"conversation {name}: {gate.used or 0} before it"
        return f"{words}{_in_brackets(gate.holders)}"
    return f"an earlier message first{_in_brackets(gate.holders)}"


def _in_brackets(holders: Sequence[Holder]) -> str:
    if not holders:
        return ""
    return f" (#{holders[0].turn})" if len(holders) == 1 else f" ({counted(len(holders), 'turn')})"


def _numbers(gate: Gate) -> str:
    return limit_words(gate.used or 0, gate.limit)


_WORDS: dict[GateName, Callable[[Gate, str], str]] = {
    GateName.HOLD: _hold,
    GateName.BUDGET: lambda gate, deck: f"budget {budget_words(gate.subject)} used up",
    GateName.COOLDOWN: lambda gate, deck: f"{gate.subject} cools down, again {gate.frees}",
    GateName.NOT_BEFORE: lambda gate, deck: f"starts {gate.frees}",
    GateName.DEPENDS_ON: _depends_on,
    GateName.TARGET: _target,
    GateName.CONVERSATION: _conversation,
    GateName.AGENT: lambda gate, deck: f"agent {gate.subject} {_numbers(gate)}",
    GateName.FOLDER: _folder,
    GateName.STATUS: lambda gate, deck: f"status {gate.subject} {_numbers(gate)}",
    GateName.BATCH: lambda gate, deck: f"batch {gate.subject} {_numbers(gate)}",
    GateName.GLOBAL: lambda gate, deck: f"global {_numbers(gate)}",
    GateName.ITEMS: lambda gate, deck: f"items {_numbers(gate)}",
    GateName.ATTENTION: lambda gate, deck: f"{gate.used} wait for you (limit {gate.limit})",
}


class WhyLine(NamedTuple):
    """One gate as the why screen shows it."""

    open: bool
    gate: str
    words: str
    holders: str


def why_lines(gates: Sequence[Gate], deck: str, now_ms: int) -> tuple[WhyLine, ...]:
    """Every gate that applies, the open ones too, but for those that have nothing to tell."""
    return tuple(
        _why_line(gate, deck, now_ms)
        for gate in gates
        if not gate.open or gate.subject or gate.used is not None
    )


def _why_line(gate: Gate, deck: str, now_ms: int) -> WhyLine:
    words = _open_words(gate, deck) if gate.open else gate_words(gate, deck)
    if gate.place:
        words = f"{short_path(gate.subject, deck)}, {words.removeprefix('folder ')}"
    label = gate.name.replace("_", " ")
    holders = ", ".join(holder_words(holder, now_ms) for holder in gate.holders[:3])
    if len(gate.holders) > 3:
        holders += f" and {len(gate.holders) - 3} more"
    return WhyLine(gate.open, label, words.removeprefix(f"{label} "), holders)


def _open_words(gate: Gate, deck: str) -> str:
    if gate.name is GateName.FOLDER:
        return f"{short_path(gate.subject, deck)} is free"
    if gate.name is GateName.TARGET:
        return f"{gate.subject}: first"
    if gate.name is GateName.CONVERSATION:
        name = _called(gate)
        return f"{name}: first" if name else "first"
    if gate.used is None:
        return gate.subject or "nothing"
    return f"{gate.subject} {_numbers(gate)}".strip()


def holder_words(holder: Holder, now_ms: int) -> str:
    """`#412 T-114 04:12 (forced)`"""
    task = f" {holder.task}" if holder.task else ""
    forced = " (forced)" if holder.forced else ""
    return f"#{holder.turn}{task} {stopwatch(now_ms - holder.since_ms)}{forced}"


def frees_line(gates: Sequence[Gate]) -> str:
    """What would open the shut ones: `when #412 ends (agent, folder)`."""
    by_words: dict[str, list[str]] = {}
    for gate in gates:
        if gate.frees:
            by_words.setdefault(gate.frees, []).append(gate.name.replace("_", " "))
    return "; ".join(f"{frees} ({', '.join(names)})" for frees, names in by_words.items())
