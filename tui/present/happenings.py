"""Events as rows: when, what kind, about what, and the words for it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from batchdeck.core.model.event import Event
from batchdeck.tui.present.cells import Cell, Row, Tone

_FAILING = ("audit.violation", "reconcile.error")


def event_row(event: Event) -> Row:
    """The cells of the events' table: time, kind, turn, task, words."""
    return (
        Cell(clock_time(event.at_ms), Tone.MUTED),
        Cell(event.kind, _tone(event)),
        Cell("" if event.turn is None else f"#{event.turn}"),
        Cell((event.task or "").partition("/")[2]),
        Cell(event_words(event)),
    )


def clock_time(at_ms: int) -> str:
    """The operator's own time of day."""
    return datetime.fromtimestamp(at_ms / 1_000).astimezone().strftime("%H:%M:%S")


def event_words(event: Event) -> str:
    """Who, and the event's own fields in their order."""
    named = [event.agent] if event.agent else []
    fields = [
        f"{name} {_plain(value)}" for name, value in event.fields.items() if value not in ("", None)
    ]
    by = [f"by {event.by}"] if event.by else []
    return " · ".join([*named, *fields, *by])


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value)
    return str(value)


def _tone(event: Event) -> Tone:
    if event.kind in _FAILING or event.fields.get("state") in ("failed", "lost", "incomplete"):
        return Tone.FAILED
    if event.kind.startswith("ask."):
        return Tone.NEEDS
    return Tone.HELD if event.kind in ("hold", "release", "limit.changed") else Tone.PLAIN
