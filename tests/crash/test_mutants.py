"""A suite that passes a deliberate fault is no evidence: each must be caught by its harness."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.harness import HARNESSES, Program
from tests.crash.mutating import MUTANTS, ROOT, Mutant

pytestmark = pytest.mark.crash

MOST_KILLS = 100
"""A mutant that outlives so many is not caught."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_deliberate_fault_is_caught(mutant: Mutant, tmp_path: Path, seed: int) -> None:
    program = mutant.build(tmp_path)
    assert_is_used(program)
    if mutant.caught_by not in HARNESSES:
        assert is_failing(mutant.caught_by, program), f"{mutant.name} was not caught"
        return
    report = HARNESSES[mutant.caught_by](MOST_KILLS, seed, program).run()
    assert not report.findings.sound, f"{mutant.name} was not caught: {report.line}"


def assert_is_used(program: Program) -> None:
    """A copy that is not imported would prove nothing."""
    found = subprocess.run(
        [sys.executable, "-c", "import batchdeck.core; print(batchdeck.core.__file__)"],
        env={**os.environ, **program.environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert found.startswith(program.environment["PYTHONPATH"]), found


def is_failing(path: str, program: Program) -> bool:
    """Whether a file of tests fails on a changed copy, by a test and not by its own making."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-m", "crash or not crash", path],
        cwd=ROOT,
        env={**os.environ, **program.environment, "BATCHDECK_PROGRAM": "module"},
        capture_output=True,
        text=True,
    )
    print(ran.stdout.strip().rpartition("\n")[2])
    return ran.returncode == 1 and " failed" in ran.stdout
