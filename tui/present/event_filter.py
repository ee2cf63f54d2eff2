"""The filter language for events: `kind:limit|hold agent:coder by:op !text`."""

from __future__ import annotations

from collections.abc import Callable

from batchdeck.core.model.event import Event
from batchdeck.tui.present.filtering import Term, read_terms, unknown_fields
from batchdeck.tui.present.happenings import event_words

_FIELDS: dict[str, Callable[[Event], str]] = {
    "kind": lambda event: event.kind,
    "agent": lambda event: event.agent or "",
    "batch": lambda event: event.batch or "",
    "by": lambda event: event.by or "",
    "task": lambda event: (event.task or "").partition("/")[2],
    "turn": lambda event: "" if event.turn is None else str(event.turn),
}


class EventFilter:
    """Terms that must all hold."""

    def __init__(self, text: str = "") -> None:
        self.text = " ".join(text.split())
        self._terms = read_terms(self.text, _FIELDS)

    @property
    def empty_words(self) -> str:
        """What is said where no event passes."""
        if not self._terms:
            return "nothing has happened yet"
        unknown = unknown_fields(self._terms, _FIELDS)
        return f"{unknown or 'no event passes the filter'} (esc clears it)"

    def passes(self, event: Event) -> bool:
        return all(_fits(term, event) is not term.negated for term in self._terms)


def _fits(term: Term, event: Event) -> bool:
    if term.field is None:
        turn = "" if event.turn is None else f"#{event.turn}"
        return term.value in f"{event.kind} {turn} {event.task or ''} {event_words(event)}".lower()
    return _FIELDS[term.field](event).lower().startswith(tuple(term.value.split("|")))
