"""Views as they cross the socket: a whole one first, then of each later one what has changed.

A view goes as one or more JSON lines. Each has some of `fields` (whole, by name) and of `put` and
`gone` (rows of the large mappings, by name and id); the line with a `revision` ends the view. Large
views are cut into lines of a thousand rows, so that neither side stands still for one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from batchdeck.core.control.wire import plain
from batchdeck.core.difference import RowNews, changed_tasks, changed_turns
from batchdeck.core.view import DeckView

if TYPE_CHECKING:
    from pydantic import TypeAdapter

ROWS_PER_LINE = 1_000
_CHANGED: Mapping[str, Callable[[DeckView, DeckView], set[int]]] = {
    "turns": changed_turns,
    "tasks": changed_tasks,
}
"""Mappings too large to be sent whole again and again, with what has changed in them."""
_DERIVED = frozenset({"revision", "turn_news", "task_news"})
_NOTHING = DeckView()


@cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    """How each field crosses; of the large mappings, how one row does."""
    from pydantic import TypeAdapter  # a deck opens without it

    types = get_type_hints(DeckView)
    rows = {name: get_args(types[name])[1] for name in _CHANGED}
    return {name: TypeAdapter(rows.get(name, kind)) for name, kind in types.items()}


def lines_of(view: DeckView, before: DeckView = _NOTHING) -> Iterator[bytes]:
    """The lines that turn `before` into `view`; without `before`, the whole view."""
    adapters = _adapters()
    for name, changed in _CHANGED.items():
        rows: Mapping[int, Any] = getattr(view, name)
        ids = sorted(changed(before, view))
        for begin in range(0, len(ids), ROWS_PER_LINE):
            some = ids[begin : begin + ROWS_PER_LINE]
            put = {
                key: adapters[name].dump_python(rows[key], mode="json")
                for key in some
                if key in rows
            }
            yield _line({"put": {name: put}, "gone": {name: [k for k in some if k not in rows]}})
    yield _line({"revision": view.revision, "fields": _changed_fields(view, before)})


def _changed_fields(view: DeckView, before: DeckView) -> dict[str, Any]:
    found = {}
    for field in fields(view):
        name = field.name
        if name in _DERIVED or name in _CHANGED:
            continue
        value = getattr(view, name)
        if value is not getattr(before, name) and value != getattr(before, name):
            found[name] = plain(value)
    return found


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


class _Told:
    """Fields and rows of a view that is told bit by bit."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.rows: dict[str, dict[int, Any]] = {name: {} for name in _CHANGED}


class Mirror:
    """The view at the other end, as far as it has been told here; revisions are of our own."""

    def __init__(self) -> None:
        self._told = _Told()
        self._kept: _Told | None = None
        """What was told before, which is shown until the next view is whole."""
        self._news = {name: RowNews() for name in _CHANGED}
        self._revision = 0

    def forget(self) -> None:
        """What comes next is a whole view again."""
        self._kept = self._kept or self._told
        self._told = _Told()

    def take(self, line: bytes) -> DeckView | None:
        """The next view, where the line ends one."""
        document = json.loads(line)
        adapters = _adapters()
        for name, put in document.get("put", {}).items():
            for key, row in put.items():
                self._put(name, int(key), adapters[name].validate_python(row))
        for name, gone in document.get("gone", {}).items():
            self._drop(name, gone)
        for name, value in document.get("fields", {}).items():
            self._told.fields[name] = adapters[name].validate_python(value)
        if "revision" not in document:
            return None
        self._replace_what_was_kept()
        return self.view()

    def _replace_what_was_kept(self) -> None:
        if self._kept is None:
            return
        for name, news in self._news.items():
            for key in (*self._kept.rows[name], *self._told.rows[name]):
                news.touch(key)
        self._kept = None

    def view(self, **changes: Any) -> DeckView:
        """What is known, as a view of its own; `changes`: what differs from what was told."""
        self._revision += 1
        for news in self._news.values():
            news.publish(self._revision)
        shown = self._kept or self._told
        values = {**shown.fields, **changes}
        return DeckView(
            revision=self._revision,
            turns=_in_order(shown.rows["turns"]),
            turn_news=self._news["turns"].told,
            tasks=_in_order(shown.rows["tasks"]),
            task_news=self._news["tasks"].told,
            **values,
        )

    def _put(self, name: str, key: int, row: Any) -> None:
        self._told.rows[name][key] = row
        self._news[name].touch(key)

    def _drop(self, name: str, keys: Iterable[int]) -> None:
        for key in keys:
            self._told.rows[name].pop(key, None)
            self._news[name].touch(key)


def _in_order(rows: dict[int, Any]) -> dict[int, Any]:
    return dict(sorted(rows.items()))
