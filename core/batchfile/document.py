"""YAML as plain values, with the traps of YAML closed and every place known."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from batchdeck.core.batchfile.faults import BatchFileFaults, Fault, nearest, shown

NESTING_LIMIT = 50

_COMPARISONS = 20_000
"""Names that are compared in search of the nearest; each takes some microseconds."""

Loc = tuple[str | int, ...]
"""The way to a value: keys and indices."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Unquoted:
    """Plain text that one reader of YAML takes for a string and another for something else."""

    text: str

    def __str__(self) -> str:
        return self.text


# ---------------------------------------------------------------- plain scalars

_MAY_BE_MORE = frozenset("0123456789+-.~=<tTfFnNyYoO")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {"true": True, "True": True, "TRUE": True}
_WORDS |= {"false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,17})\.\d{1,30}")
_OTHERS = re.compile(
    r"(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|<<|=)"
    r"|[-+]?(?:\.?\d[\d_]*(?:\.[\d_]*)?(?:[eE][-+]?\d+)?)"  # 017, 1e3, 1_000, +5, .5
    r"|[-+]?0(?:x[\da-fA-F_]+|o[0-7_]+|b[01_]+)"
    r"|[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?"  # 1:20, which is 80
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|\d{4}-\d\d?-\d\d?(?:[Tt \t]+\d.*)?"
)


def plain_value(text: str) -> Any:
    """What an unquoted scalar means: a string, number, truth value or nothing, if all agree."""
    if text and text[0] not in _MAY_BE_MORE:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return Unquoted(text) if _OTHERS.fullmatch(text) else text


# ---------------------------------------------------------------- values


@dataclass(slots=True)
class Document:
    """One YAML document."""

    path: str
    """The file's name in faults."""
    text: str
    line_offset: int = 0
    """Lines of the file before `text`."""
    values: Any = None
    broken: bool = False
    """It could not be read to its end, so nothing can be said about its values."""
    faults: list[Fault] = field(default_factory=list)
    _wanted: list[tuple[Loc, bool, str, str | None]] = field(default_factory=list)
    _compared: int = 0

    def fault(
        self, loc: Loc, message: str, *, at_key: bool = False, code: str | None = None
    ) -> None:
        """Notes what is wrong with the value at `loc`, or with its key."""
        self._wanted.append((loc, at_key, message, code))

    def hint(self, name: object, known: Collection[str]) -> str:
        """What may have been meant; a file with very many such faults gets no more hints."""
        self._compared += len(known)
        return nearest(name, known) if self._compared <= _COMPARISONS else ""

    @property
    def faulty(self) -> bool:
        """Whether anything has been noted."""
        return bool(self.faults or self._wanted)

    def raise_faults(self) -> None:
        """
        Raises:
            BatchFileFaults: anything was noted.
        """
        if self._wanted:
            places = _places(self.text, {loc for loc, *_ in self._wanted})
            for loc, at_key, message, code in self._wanted:
                line, column = places.of(loc, at_key)
                prefix = f"{dotted(loc)}: " if loc else ""
                self._note(line, column, prefix + message, code)
            self._wanted.clear()
        if self.faults:
            raise BatchFileFaults(self.faults)

    def note(self, mark: Any, message: str) -> None:
        """Notes what is wrong at a place of the YAML reader's."""
        self._note(mark.line, mark.column, message, None)

    def _note(self, line: int, column: int, message: str, code: str | None) -> None:
        place = line + 1 + self.line_offset, column + 1
        self.faults.append(Fault(self.path, *place, message, code))


def dotted(loc: Loc) -> str:
    """A way as people write it: `tasks[3].depends_on[0]`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{shown(step)}" for step in loc)
    return "".join(parts).removeprefix(".")


def parse(path: str, text: str, line_offset: int = 0) -> Document:
    """Reads a document; what the YAML itself has wrong stands in its `faults`."""
    document = Document(path, text, line_offset, broken=True)
    try:
        document.values = _Builder(document).build()
        document.broken = False
    except _GaveUp:
        return document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = f"this is not YAML: {error.problem or error.context}"
        if mark is not None:
            document.note(mark, words)
        else:
            document.faults.append(Fault(path, 1 + line_offset, 1, words))
    except yaml.YAMLError as error:
        document.faults.append(Fault(path, 1 + line_offset, 1, f"this is not YAML: {shown(error)}"))
    return document


class _GaveUp(Exception):
    """A fault has been noted after which there is no use in reading on."""


_NO_KEY = object()
"""Stands where a mapping waits for its next key."""

_DROPPED = object()
"""Stands for a key that has been refused; its value is left out."""


class _Builder:
    """Builds values from the events of one document; it never recurses."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._root: Any = None
        self._open: list[Any] = []
        """Containers that are being read, the innermost last."""
        self._keys: list[Any] = []
        """For each of them, the key whose value comes next (mappings)."""
        self._started = False

    def build(self) -> Any:
        for event in yaml.parse(self._document.text, Loader=_LOADER):
            kind = type(event)
            if kind is ScalarEvent:
                self._scalar(event)
            elif kind is MappingStartEvent:
                self._enter({}, event)
            elif kind is SequenceStartEvent:
                self._enter([], event)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                self._open.pop()
                self._keys.pop()
            elif kind is AliasEvent:
                self._document.note(
                    event.start_mark, f"*{shown(getattr(event, 'anchor', ''))}: no aliases here"
                )
                self._put(None, event)
            elif kind is DocumentStartEvent:
                self._only_one(event)
        return self._root

    def _scalar(self, event: Any) -> None:
        if event.anchor is not None or event.tag is not None:
            self._refuse_marks(event)
        self._put(event.value if event.style else plain_value(event.value), event)

    def _enter(self, container: Any, event: Any) -> None:
        if event.anchor is not None or event.tag is not None:
            self._refuse_marks(event)
        if len(self._open) >= NESTING_LIMIT:
            self._document.note(event.start_mark, f"nested deeper than {NESTING_LIMIT}")
            raise _GaveUp
        self._put(container, event)
        self._open.append(container)
        self._keys.append(_NO_KEY)

    def _put(self, value: Any, event: Any) -> None:
        if not self._open:
            self._root = value
            return
        container = self._open[-1]
        if type(container) is list:
            container.append(value)
        elif self._keys[-1] is _NO_KEY:
            self._keys[-1] = self._key(value, container, event)
        else:
            if self._keys[-1] is not _DROPPED:
                container[self._keys[-1]] = value
            self._keys[-1] = _NO_KEY

    def _key(self, value: Any, container: dict[Any, Any], event: Any) -> Any:
        if type(value) is not str:
            written = shown(event.value) if type(event) is ScalarEvent else "a list or mapping"
            words = f"{written} as a key: expected text (quote it)"
            self._document.note(event.start_mark, words)
            return _DROPPED
        if value in container:
            self._document.note(event.start_mark, f"{shown(value)} is there twice")
        return value

    def _refuse_marks(self, event: Any) -> None:
        if event.anchor is not None:
            self._document.note(event.start_mark, f"&{shown(event.anchor)}: no anchors here")
        if event.tag is not None:
            self._document.note(event.start_mark, f"{shown(event.tag)}: no tags here")

    def _only_one(self, event: Any) -> None:
        if self._started:
            self._document.note(event.start_mark, "a second document: one per file")
            raise _GaveUp
        self._started = True


# ---------------------------------------------------------------- places


@dataclass(frozen=True, slots=True)
class _Places:
    keys: dict[Loc, tuple[int, int]]
    values: dict[Loc, tuple[int, int]]

    def of(self, loc: Loc, at_key: bool) -> tuple[int, int]:
        """The place of a value or its key, or of the innermost thing around it that is there."""
        if at_key and loc in self.keys:
            return self.keys[loc]
        while loc and loc not in self.values:
            loc = loc[:-1]
        return self.values.get(loc, (0, 0))


def _places(text: str, wanted: Iterable[Loc]) -> _Places:
    """Where the wanted values and all that contain them stand; line and column from 0.

    A second reading of a text that has been read: places are only needed where something is wrong.
    """
    around = {loc[:length] for loc in wanted for length in range(len(loc) + 1)}
    places = _Places({}, {})
    for loc, mark, is_key in _walk(text):
        if loc in around:
            kept = places.keys if is_key else places.values
            kept.setdefault(loc, (mark.line, mark.column))
    return places


@dataclass(slots=True)
class _Frame:
    """A container on the way to where the reading has come."""

    step: str | int | None
    """Index, or key; None where a key comes next."""
    key_is_open: bool = False
    """A container stands where the key should."""

    def advance(self) -> None:
        if isinstance(self.step, int):
            self.step += 1
        elif self.key_is_open:
            self.key_is_open = False
        else:
            self.step = None


def _walk(text: str) -> Iterator[tuple[Loc, Any, bool]]:
    """Every value and every key with the way to it and its mark; whether it is a key."""
    frames: list[_Frame] = []
    for event in yaml.parse(text, Loader=_LOADER):
        kind = type(event)
        if kind is MappingEndEvent or kind is SequenceEndEvent:
            frames.pop()
        elif kind not in (ScalarEvent, MappingStartEvent, SequenceStartEvent, AliasEvent):
            continue
        elif frames and frames[-1].step is None:
            frames[-1].step = getattr(event, "value", "?")
            yield _way(frames), event.start_mark, True
            if kind is ScalarEvent or kind is AliasEvent:
                continue
            frames[-1].key_is_open = True
        else:
            yield _way(frames), event.start_mark, False
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            frames.append(_Frame(None if kind is MappingStartEvent else 0))
        elif frames:
            frames[-1].advance()


def _way(frames: list[_Frame]) -> Loc:
    return tuple(frame.step for frame in frames if frame.step is not None)
