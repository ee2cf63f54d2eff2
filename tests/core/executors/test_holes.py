"""Whoever reads an output of which the middle was given back to the disk reads over the hole."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from batchdeck.core.agents.dialects.registry import Reading
from batchdeck.core.agents.preparing import _how_it_failed
from batchdeck.core.deck.pulse import _MOST_AT_ONCE, _Output, _pulse
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import Ended, Record
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.turn import AttemptEnd

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="holes are made by Linux' fallocate"
)

HEAD = b"first\n" + b"x" * 8186 + b"cut "
TAIL = b"off\nlast\n"


def with_hole(path: Path, length: int) -> Path:
    """A file with something at both ends, and a hole of so many bytes between."""
    path.write_bytes(HEAD)
    os.truncate(path, len(HEAD) + length)
    with path.open("ab") as file:
        file.write(TAIL)
    return path


def test_settling_reads_what_is_before_and_behind_the_hole_and_nothing_of_it(
    tmp_path: Path,
) -> None:
    output = with_hole(tmp_path / "output", 1 << 24)
    reading = Reading(Agent("a", AgentKind.COMMAND), output)
    taken: list[bytes] = []
    reading.dialect.take = taken.append  # type: ignore[method-assign]

    reading.outcome(0)

    assert sum(map(len, taken)) < 20_000
    assert (taken[0], taken[-1]) == (b"first", b"last")
    assert not any(b"cut" in line and b"off" in line for line in taken)


def test_what_is_written_after_the_hole_was_read_over_is_read_too(tmp_path: Path) -> None:
    output = with_hole(tmp_path / "output", 1 << 24)
    reading = Reading(Agent("a", AgentKind.COMMAND), output)
    taken: list[bytes] = []
    reading.dialect.take = taken.append  # type: ignore[method-assign]
    reading.go_on()
    with output.open("ab") as file:
        file.write(b"more\n")

    reading.go_on()

    assert taken[-2:] == [b"last", b"more"]


def test_lines_are_counted_up_to_the_end_without_reading_the_hole(tmp_path: Path) -> None:
    output = with_hole(tmp_path / "output", 16 * _MOST_AT_ONCE)
    counted = _Output()
    for _ in range(3):
        _pulse(output, counted, None)
    assert counted.counted == output.stat().st_size
    assert counted.lines == 3


def test_the_last_lines_of_a_preparation_are_read_from_its_end(tmp_path: Path) -> None:
    with_hole(tmp_path / attempt_files.OUTPUT, 1 << 40)
    words = _how_it_failed(Ended(Record(AttemptEnd.EXITED, 1)), tmp_path)
    assert words.startswith("exit 1: ")
    assert words.endswith(" | last")
