"""The filter language: `status:READY agent:coder !text`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import ENDED, Turn, TurnState
from batchdeck.core.text import did_you_mean
from batchdeck.core.view import DeckView

Field = Callable[[Turn, "Task | None"], tuple[str, ...]]


def _status(turn: Turn, task: Task | None) -> tuple[str, ...]:
    """Its task's status now; while it has not ended, its lane too, which the slots count by."""
    now = () if task is None else (task.status.value,)
    return now if turn.state in ENDED or turn.lane is None else (*now, turn.lane.value)


FIELDS: dict[str, Field] = {
    "status": _status,
    "state": lambda turn, task: (turn.state.value,),
    "agent": lambda turn, task: (turn.agent,),
    "batch": lambda turn, task: (turn.batch or "",),
    "task": lambda turn, task: () if task is None else (task.key, task.name),
    "target": lambda turn, task: (turn.target or "",),
}


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a filter; without a field it is looked for in every text of the row."""

    field: str | None
    value: str
    negated: bool = False

    def passes(self, turn: Turn, task: Task | None) -> bool:
        return self._fits(turn, task) is not self.negated

    def _fits(self, turn: Turn, task: Task | None) -> bool:
        if self.field is None:
            return self.value in _searched(turn, task)
        # the beginning is enough, so that the turns follow each letter that is typed
        return any(value.lower().startswith(self.value) for value in FIELDS[self.field](turn, task))


def _searched(turn: Turn, task: Task | None) -> str:
    names = "" if task is None else f"{task.name} {task.title}"
    return f"#{turn.id} {names} {turn.agent} {turn.state} {turn.title} {turn.error or ''}".lower()


@dataclass(frozen=True, slots=True)
class Filter:
    """Terms that must all hold."""

    text: str = ""
    terms: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def passes(self, turn: Turn, task: Task | None) -> bool:
        return all(term.passes(turn, task) for term in self.terms)


NO_FILTER = Filter()


def read_filter(text: str) -> Filter:
    """A filter from what a person typed; a field that is not known is a text like any other."""
    words = text.split()
    return Filter(" ".join(words), read_terms(text, FIELDS))


def read_terms(text: str, fields: Collection[str]) -> tuple[Term, ...]:
    """The terms of a filter; a field that is not among `fields` is a text like any other."""
    found = (_read_term(word, fields) for word in text.split())
    return tuple(term for term in found if term is not None)


def _read_term(word: str, fields: Collection[str]) -> Term | None:
    negated, bare = word.startswith("!"), word.removeprefix("!").lower()
    field, colon, value = bare.partition(":")
    if colon and field in fields:
        # a field without its value is still being typed
        return Term(field, value, negated) if value else None
    return Term(None, bare, negated) if bare else None


def unknown_words(filter: Filter, view: DeckView) -> str:
    """`no agent 'codr'; did you mean coder?`: a name in a filter that nothing here has."""
    known: dict[str, Collection[str]] = {
        "agent": view.agents,
        "batch": view.batches,
        "status": [status.value for status in Status],
        "state": [state.value for state in TurnState],
    }
    for term in filter.terms:
        names = known.get(term.field or "", ())
        if names and not any(name.lower().startswith(term.value) for name in names):
            return f"no {term.field} {term.value!r}{did_you_mean(term.value, names)}"
        if unknown := _unknown_field(term, FIELDS):
            return unknown
    return ""


def unknown_fields(terms: Iterable[Term], fields: Collection[str]) -> str:
    """`no field 'foo'; there are kind, agent`: the first one in a filter that is not there."""
    return next(filter(None, (_unknown_field(term, fields) for term in terms)), "")


def _unknown_field(term: Term, fields: Collection[str]) -> str:
    field, colon, _ = term.value.partition(":")
    if term.field is not None or not colon or not field.isalpha():
        return ""
    near = did_you_mean(field, fields) or f"; there are {', '.join(fields)}"
    return f"no field {field!r}{near}"
