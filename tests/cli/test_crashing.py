"""The report of a crash says where and what kind, and quotes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from batchdeck.core.paths import DeckPaths
from batchdeck.tui.cli.crashing import report_crash

KEY = "sk-secret-value"


def refuse(value: str) -> None:
    TypeAdapter(int).validate_python(value)


def fail_from(value: str) -> None:
    try:
        refuse(value)
    except ValueError as error:
        raise RuntimeError(f"bad key {value}") from error


def fail_meanwhile(value: str) -> None:
    try:
        refuse(value)
    finally:
        raise KeyError(value)


def fail_together(value: str) -> None:
    parts: list[Exception] = []
    for fail in (fail_from, fail_meanwhile):
        try:
            fail(value)
        except (RuntimeError, KeyError) as error:
            parts.append(error)
    raise ExceptionGroup(f"both with {value}", parts)


def fail_with_a_note(value: str) -> None:
    error = OSError(2, value, value)
    error.add_note(value)
    raise error


KINDS = (ValidationError, RuntimeError, KeyError, OSError, ExceptionGroup)
FAILURES = {
    refuse: ["ValidationError"],
    fail_from: ["ValidationError", "builtins.RuntimeError"],
    fail_meanwhile: ["ValidationError", "builtins.KeyError"],
    fail_together: ["builtins.RuntimeError", "builtins.KeyError", "builtins.ExceptionGroup"],
    fail_with_a_note: ["builtins.FileNotFoundError"],
}


@pytest.mark.parametrize("fail", FAILURES)
def test_a_report_names_places_and_kinds_and_holds_no_value(
    tmp_path: Path, fail: Callable[[str], None]
) -> None:
    with pytest.raises(KINDS) as caught:
        fail(KEY)
    path = report_crash(DeckPaths(tmp_path), caught.value)
    assert path is not None
    report = path.read_text()
    assert KEY not in report
    assert f"in {fail.__name__}" in report
    assert all(name in report for name in FAILURES[fail])
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_error_that_is_its_own_cause_is_told_once(tmp_path: Path) -> None:
    first, second = KeyError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    path = report_crash(DeckPaths(tmp_path), first)
    assert path is not None
    assert path.read_text().count("builtins.ValueError") == 1
