"""Results as JSON lines and as a table for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from batchdeck.core.export.record import COLUMNS, Record

_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")
"""How a cell begins that a spreadsheet computes; blanks before it are passed over."""


def as_jsonl(records: Iterable[Record]) -> Iterator[str]:
    """A JSON document per task, a line each."""
    for record in records:
        yield json.dumps(record.as_json(), ensure_ascii=False) + "\n"


def as_csv(records: Iterable[Record]) -> Iterator[str]:
    """A header and a row per task; what a spreadsheet would take for a formula is quoted."""
    yield _row(COLUMNS)
    for record in records:
        document = record.as_json()
        yield _row(tuple(_cell(document[name]) for name in COLUMNS))


def _cell(value: Any) -> Any:
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return "" if value is None else value


def _row(cells: tuple[Any, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
