"""The last hour of an agent as bars: what it brought to an end, and what ran against its limit."""

from __future__ import annotations

from typing import NamedTuple

from batchdeck.core.model.limit import agent_limit
from batchdeck.core.model.turn import ENDED
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Tone

SPAN_MS = 3_600_000
_LEVELS = " ▁▂▃▄▅▆▇█"


class Chart(NamedTuple):
    label: str
    bars: str
    words: str
    tone: Tone


def agent_charts(view: DeckView, agent: str, now_ms: int, width: int) -> tuple[Chart, ...]:
    """Two bars of `width` characters; slices start at fixed moments, so that nothing flickers."""
    size = SPAN_MS // max(1, width)
    latest = now_ms // size
    ended, steps = [0] * width, [0] * (width + 1)
    for turn in view.turns.values():
        if turn.agent != agent or turn.started_ms is None:
            continue
        if turn.state in ENDED and turn.ended_ms is not None:
            _add(ended, width - 1 - (latest - turn.ended_ms // size))
        first = max(0, width - 1 - (latest - turn.started_ms // size))
        last = now_ms if turn.ended_ms is None else turn.ended_ms
        behind = width - (latest - last // size)
        if behind > first:
            steps[first] += 1
            steps[min(width, behind)] -= 1
    running = _summed(steps[:-1])
    limit = effective_limit(view, agent_limit(agent)) or 0
    now = view.running_by.get(agent_limit(agent), 0)
    most = max([limit, *running], default=0)
    return (
        Chart("ended", bars(ended, max(ended, default=0)), _ended_words(ended), Tone.DONE),
        Chart("running", bars(running, most), f"{now} of {limit} now", Tone.RUNNING),
    )


def bars(counts: list[int], most: int) -> str:
    """One character per count; `most` fills it."""
    top = max(1, most)
    return "".join(_LEVELS[min(8, -(-8 * count // top))] for count in counts)


def _add(counts: list[int], index: int) -> None:
    if 0 <= index < len(counts):
        counts[index] += 1


def _summed(steps: list[int]) -> list[int]:
    total, sums = 0, []
    for step in steps:
        total += step
        sums.append(total)
    return sums


def _ended_words(ended: list[int]) -> str:
    return f"{sum(ended)} in the last hour"
