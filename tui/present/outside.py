"""How the trackers answer, as lines above the events."""

from __future__ import annotations

from batchdeck.core.model.issue import TrackerStanding
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Cell, Tone
from batchdeck.tui.present.happenings import moment

_MOST_DOUBTS = 3


def tracker_lines(view: DeckView) -> tuple[Cell, ...]:
    """A line for each tracker, and below it what is not certain there."""
    lines: list[Cell] = []
    for tracker in view.trackers:
        lines.append(Cell(_words(tracker, view.at_ms), Tone.MUTED if tracker.good else Tone.ALERT))
        lines += [Cell(f"  ? {words}", Tone.NEEDS) for words in tracker.doubtful[:_MOST_DOUBTS]]
        left = len(tracker.doubtful) - _MOST_DOUBTS
        if left > 0:
            lines.append(Cell(f"  ? and {left} more", Tone.NEEDS))
    return tuple(lines)


def _words(tracker: TrackerStanding, now_ms: int) -> str:
    issues = f"{tracker.issues} issue{'' if tracker.issues == 1 else 's'} followed"
    parts = [f"{tracker.name}{f' {tracker.words}' if tracker.words else ''}"]
    if tracker.again_ms is not None:
        parts.append(f"asked again at {moment(tracker.again_ms, now_ms)}")
    parts.append(issues)
    if tracker.asked_ms is not None:
        parts.append(f"last answer {moment(tracker.asked_ms, now_ms)}")
    return " · ".join(parts)
