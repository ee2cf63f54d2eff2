"""Every behaviour that batchdeck owes is shown by a test, or there is a reason why not."""

from __future__ import annotations

import pytest

from tests.support.requirements import entries, missing, wanted

SHOWN = (
    *(id for id in wanted() if id.startswith("CF-")),
    *(f"PC-{number:02d}" for number in (*range(1, 31), *range(42, 47))),
    *("AC-01", "AC-02", "AC-07", "AC-08"),
)


def test_every_requirement_has_an_entry_and_every_test_it_names_exists() -> None:
    assert list(missing(entries())) == []


@pytest.mark.parametrize("id", SHOWN)
def test_what_the_product_stands_on_is_not_left_for_later(id: str) -> None:
    entry = entries()[id]
    assert "test" in entry or "not_applicable" in entry


def test_a_gap_is_found() -> None:
    found = dict(entries())
    del found["CF-01"]
    found["CF-02"] = {"says": "x"}
    found["CF-03"] = {"says": "x", "test": "tests/test_requirements.py::test_nowhere"}
    found["XX-01"] = {"says": "", "later": "x", "not_applicable": "y"}
    assert list(missing(found)) == [
        "CF-01: has no entry",
        "CF-02: needs exactly one of test, not_applicable, later",
        "CF-03: there is no tests/test_requirements.py::test_nowhere",
        "XX-01: is not a requirement",
        "XX-01: says nothing",
        "XX-01: needs exactly one of test, not_applicable, later",
    ]
