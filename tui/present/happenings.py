"""Events as rows: when, what kind, about what, and the words for it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from batchdeck.core.model.event import Event
from batchdeck.tui.present.cells import Cell, Row, Tone

_UNSAID = frozenset({"attempt", "position", "key"})
"""Fields for programs, which tell a person nothing."""

_HOLDING = ("hold", "release", "limit.changed", "account.cooling", "account.ready")
_SPENDING = ("budget.reached", "budget.raised")
_FAILING = ("audit.violation", "reconcile.error")


def event_row(event: Event, now_ms: int) -> Row:
    """The cells of the events' table: time, kind, turn, task, words."""
    return (
        Cell(moment(event.at_ms, now_ms), Tone.MUTED),
        Cell(event.kind, _tone(event)),
        Cell("" if event.turn is None else f"#{event.turn}"),
        Cell((event.task or "").partition("/")[2]),
        Cell(event_words(event)),
    )


def clock_time(at_ms: int) -> str:
    """The operator's own time of day."""
    return datetime.fromtimestamp(at_ms / 1_000).astimezone().strftime("%H:%M:%S")


def moment(at_ms: int, now_ms: int) -> str:
    """The time of day; of another day `11-29 06:00`, that nobody takes it for today's."""
    at, now = (datetime.fromtimestamp(ms / 1_000).astimezone() for ms in (at_ms, now_ms))
    return at.strftime("%H:%M:%S" if at.date() == now.date() else "%m-%d %H:%M")


def event_words(event: Event) -> str:
    """Who, what it was and is, and the event's other fields in their order."""
    if event.kind in ("reconcile.skipped", "reconcile.requeued"):
        return f"{event.fields.get('status')} · {event.fields.get('reason')} · by {event.by}"
    if event.kind in ("reconcile.error", "reconcile.started"):
        return str(event.fields.get("error") or event.fields.get("reason"))
    if event.kind == "account.cooling":
        until = moment(event.fields.get("until_ms") or 0, event.at_ms)
        return f"{event.fields.get('account')} again at {until} · {event.fields.get('reason')}"
    fields = {name: value for name, value in event.fields.items() if name not in _UNSAID}
    if "question" in fields:
        fields["question"] = str(fields["question"]).partition("\n")[0]
    named = [event.agent] if event.agent else []
    change = _change(fields)
    if change:
        named.append(change)
    held = fields.pop("what", "")
    if held and held != f"turn:{event.turn}":
        named.append(held)
    rest = [
        f"{name.replace('_', ' ')} {_plain(value)}"
        for name, value in fields.items()
        if value not in ("", None)
    ]
    by = [f"by {event.by}"] if event.by else []
    return " · ".join([*named, *rest, *by])


def _change(fields: dict[str, Any]) -> str:
    """`agent:coder 2 → 3`, `READY → DONE`; takes out of `fields` what it says."""
    if "before" not in fields and "after" not in fields:
        return ""
    name = fields.pop("name", "")
    before, after = fields.pop("before", None), fields.pop("after", fields.pop("status", None))
    was, now = ("none" if value is None else str(value) for value in (before, after))
    return f"{name} {was} → {now}".strip()


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value)
    return str(value)


def _tone(event: Event) -> Tone:
    if event.kind in _FAILING or event.fields.get("state") in ("failed", "lost", "incomplete"):
        return Tone.FAILED
    if event.kind in ("reconcile.skipped", "reconcile.requeued"):
        return Tone.DONE
    if event.kind.startswith("ask.") or event.kind in _SPENDING:
        return Tone.NEEDS
    return Tone.HELD if event.kind in _HOLDING else Tone.PLAIN
