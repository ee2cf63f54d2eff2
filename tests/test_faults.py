"""Every fault on the list is covered by tests that exist, or says what is left of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FAULTS: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "tests/faults.toml").read_text("utf-8"))


def exists(name: str) -> bool:
    """Whether a test of this name (`path::function`, or a state machine's case) is in its file."""
    path, _, function = name.partition("::")
    file = ROOT / path
    if not file.is_file():
        return False
    text = file.read_text("utf-8")
    return bool(re.search(rf"^(?:async )?def {function}\(|^{function} = ", text, re.MULTILINE))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_tests_that_exist_or_what_is_left(fault: str) -> None:
    entry = FAULTS[fault]
    assert set(entry) <= {"says", "test", "left"}
    assert entry["says"].endswith(".")
    assert entry.get("test") or entry.get("left")
    assert [name for name in entry.get("test", ()) if not exists(name)] == []


def test_a_test_that_does_not_exist_is_found() -> None:
    assert not exists("tests/test_faults.py::test_nowhere")
    assert not exists("tests/nowhere.py::test_nowhere")
