"""Checks that every behaviour of `tests/requirements.toml` is shown, excused or announced.

`python -m tests.support.requirements` prints, one a line, what is missing: an id without an
entry, an entry without a reason, a test that does not exist. `--later` lists what is announced.
"""

from __future__ import annotations

import ast
import functools
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "requirements.toml"
FAMILIES: Mapping[str, int] = {"CF": 28, "RC": 35, "PC": 48, "AC": 25, "LW": 33}
"""Each family of ids with its last number."""
REASONS = ("test", "not_applicable", "later")

Entry = Mapping[str, Any]


def wanted() -> list[str]:
    """Every id there must be."""
    return [
        f"{family}-{number:02d}"
        for family, last in FAMILIES.items()
        for number in range(1, last + 1)
    ]


def entries() -> dict[str, Entry]:
    return tomllib.loads(FILE.read_text("utf-8"))


def tests_of(entry: Entry) -> list[str]:
    found = entry.get("test", [])
    return [found] if isinstance(found, str) else list(found)


def missing(found: Mapping[str, Entry]) -> Iterator[str]:
    """What is wrong, one line each."""
    for id in wanted():
        if id not in found:
            yield f"{id}: has no entry"
    for id, entry in found.items():
        yield from _faults_of(id, entry)


def _faults_of(id: str, entry: Entry) -> Iterator[str]:
    if id not in wanted():
        yield f"{id}: is not a requirement"
    if not str(entry.get("says", "")).strip():
        yield f"{id}: says nothing"
    reasons = [name for name in REASONS if entry.get(name)]
    if len(reasons) != 1:
        yield f"{id}: needs exactly one of {', '.join(REASONS)}"
    for test in tests_of(entry):
        if not _exists(test):
            yield f"{id}: there is no {test}"


def _exists(test: str) -> bool:
    path, colons, name = test.partition("::")
    return bool(colons) and name in _tests_in(ROOT / path)


@functools.cache
def _tests_in(path: Path) -> frozenset[str]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except FileNotFoundError:
        return frozenset()
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def main() -> int:
    found = entries()
    if "--later" in sys.argv[1:]:
        for id, entry in found.items():
            if "later" in entry:
                print(f"{id}: {entry['says']} ({entry['later']})")
        return 0
    faults = list(missing(found))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
