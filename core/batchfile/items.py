"""The items of a foreach: from the batch file, a JSONL file, a CSV file or a glob."""

from __future__ import annotations

import csv
import glob
import io
import json
import math
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from batchdeck.core.batchfile.faults import BatchFileFaults, Fault
from batchdeck.core.batchfile.source import read_source
from batchdeck.core.errors import BadInput
from batchdeck.core.text import clean_text

ITEMS_SIZE_LIMIT = 100 * 1024 * 1024
"""Bytes of a file of items."""
MOST_ITEMS = 500_000
DEEPEST = 50
MOST_FAULTS = 20


def read_items(kind: str, path: str) -> list[Any]:
    """The items in a `file`, or those that a `glob` finds, in order; the path is absolute.

    Raises:
        BadInput: a file cannot be read, or a line of it is no item; every fault has its place.
    """
    if kind == "glob":
        return _found(path)
    text = read_source(Path(path), limit=ITEMS_SIZE_LIMIT)
    rows = _rows(path, text) if path.endswith(".csv") else _lines(path, text)
    return _no_more_than_allowed(path, rows)


def _no_more_than_allowed(path: str, items: Iterable[Any]) -> list[Any]:
    taken = list(islice(items, MOST_ITEMS + 1))
    if len(taken) > MOST_ITEMS:
        raise BadInput(f"{path}: these are too many items: at most {MOST_ITEMS:,}.")
    return taken


def _found(pattern: str) -> list[Any]:
    """Files by name, in the order of their names; each is an item with its path."""
    files = (name for name in glob.iglob(pattern, recursive=True) if os.path.isfile(name))
    names = sorted(_no_more_than_allowed(pattern, files))
    unreadable = [name for name in names if clean_text(name) != name or "\n" in name]
    if unreadable:
        shown = clean_text(unreadable[0]).replace("\n", "?")
        raise BadInput(f"{pattern}: the name of {shown!r} holds what no text may hold. Rename it.")
    return [{"path": name} for name in names]


def _lines(path: str, text: str) -> Iterator[Any]:
    faults: list[Fault] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or len(faults) >= MOST_FAULTS:
            continue
        try:
            value = json.loads(line, parse_constant=_refuse)
            _check(value, DEEPEST)
            yield _cleaned(value)
        except json.JSONDecodeError as error:
            words = f"this is no JSON: {error.msg}"
            faults.append(Fault(path, number, error.colno, words))
        except RecursionError:
            faults.append(Fault(path, number, 1, "this is nested too deeply"))
        except ValueError as error:
            faults.append(Fault(path, number, 1, str(error)))
    if faults:
        raise BatchFileFaults(faults)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _check(value: Any, depth: int) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number in it is too large")
    if not isinstance(value, dict | list):
        return
    if not depth:
        raise ValueError(f"this is nested more than {DEEPEST} levels deep")
    for inner in value.values() if isinstance(value, dict) else value:
        _check(inner, depth - 1)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(inner) for key, inner in value.items()}
    return value


def _rows(path: str, text: str) -> Iterator[Any]:
    """Rows under their header; every value is text."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    faults: list[Fault] = []
    try:
        header = next(reader, [])
        doubled = {name for name in header if header.count(name) > 1}
        if not header or "" in header or doubled:
            words = "expected a first line of names, each another one"
            raise BatchFileFaults([Fault(path, 1, 1, words)])
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                words = f"expected {len(header)} values, as in the first line; here are {len(row)}"
                faults.append(Fault(path, reader.line_num, 1, words))
            elif not faults:
                yield dict(zip(header, row, strict=True))
            if len(faults) >= MOST_FAULTS:
                break
    except csv.Error as error:
        faults.append(Fault(path, reader.line_num, 1, f"this is no CSV: {error}"))
    if faults:
        raise BatchFileFaults(faults)
