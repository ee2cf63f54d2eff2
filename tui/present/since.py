"""What has changed since the operator last looked, in one line."""

from __future__ import annotations

from batchdeck.core.text import counted
from batchdeck.core.view import DeckView
from batchdeck.tui.present.durations import rough
from batchdeck.tui.present.limit_change import limit_name_words
from batchdeck.tui.present.limits import number

_MOST_LIMITS = 2


def since_words(before: DeckView, view: DeckView, away_ms: int) -> str:
    """`since you last looked, 12 min ago: 5 done, 1 failed, 2 ask`; empty if nothing did."""
    parts = [
        _counted(_done(view) - _done(before), "done"),
        _counted(_failed(view) - _failed(before), "failed"),
        _counted(len(view.asks.keys() - before.asks.keys()), "new questions"),
        *_batches(before, view),
        *_limits(before, view),
    ]
    if view.mode != before.mode:
        parts.append(f"now {view.mode}")
    told = ", ".join(part for part in parts if part)
    return f"since you last looked, {rough(away_ms)} ago: {told}" if told else ""


def _counted(number: int, words: str) -> str:
    return f"{number} {words}" if number > 0 else ""


def _done(view: DeckView) -> int:
    return sum(tally.done for tally in view.agent_tallies.values())


def _failed(view: DeckView) -> int:
    return sum(tally.failed for tally in view.agent_tallies.values())


def _batches(before: DeckView, view: DeckView) -> list[str]:
    return [
        f"batch {batch.name} {batch.state.value.replace('_', ' ')}"
        for batch in view.batches.values()
        if batch.ended_ms is not None
        and (known := before.batches.get(batch.name)) is not None
        and known.ended_ms is None
    ]


def _limits(before: DeckView, view: DeckView) -> list[str]:
    if before.limits is view.limits:
        return []
    was = {name: limit.value for name, limit in before.limits.items()}
    changed = [
        f"{limit_name_words(name)} {number(was.get(name))} → {number(limit.value)}"
        for name, limit in view.limits.items()
        if limit.value != was.get(name)
    ]
    more = len(changed) - _MOST_LIMITS
    return changed[:_MOST_LIMITS] + ([counted(more, "more limit")] if more > 0 else [])
