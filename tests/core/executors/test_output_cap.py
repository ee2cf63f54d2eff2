"""An agent that never stops talking fills no disk: the middle of its output is left out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from batchdeck.core.deck.reading import read_page
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import Ended
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.turn import AttemptEnd
from tests.core.executors.support import launch

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="holes are made by Linux' fallocate"),
]

CAP = 1024 * 1024
TALKER = """
import sys, time
for number in range(int(sys.argv[1])):
    print(f"line {number:09d} " + "x" * 80)
    if number % 20_000 == 0:
        sys.stdout.flush()
        time.sleep(1.1)  # the runner looks once a second
print("the last line")
"""


async def test_beyond_the_cap_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    argv = (sys.executable, "-I", "-S", "-c", TALKER, "60000")
    given = launch(tmp_path, "", argv=argv, output_cap=CAP)
    executor = LocalExecutor()
    await executor.start(given)
    await executor.wait(given.run)
    output = given.run / attempt_files.OUTPUT
    size = output.stat().st_size
    assert size > 5_000_000, "the file is as long as what was said"
    assert output.stat().st_blocks * 512 < size / 2, "but it does not take up that room"
    data, position = b"", 0
    while position < size:
        page = read_page(output, position, 65_536, True)
        assert page is not None
        assert page.data, "a hole is stepped over"
        data, position = data + page.data, page.end
    assert b"\0" not in data
    assert data.startswith(b"line 000000000 ")
    assert data.endswith(b"the last line\n")
    assert len(data) < size / 2


async def test_within_the_cap_every_byte_is_kept(tmp_path: Path) -> None:
    argv = (sys.executable, "-I", "-S", "-c", TALKER, "5000")
    given = launch(tmp_path, "", argv=argv, output_cap=CAP)
    executor = LocalExecutor()
    await executor.start(given)
    await executor.wait(given.run)
    lines = (given.run / attempt_files.OUTPUT).read_text().splitlines()
    assert len(lines) == 5_001


DEAF = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("begun", flush=True)
while True:
    os.write(1, b"x" * 4_000_000)
    time.sleep(0.2)
"""


async def test_it_has_its_cap_while_the_agent_is_given_time_to_end(tmp_path: Path) -> None:
    argv = (sys.executable, "-I", "-S", "-c", DEAF)
    given = launch(tmp_path, "", argv=argv, output_cap=CAP, grace_seconds=4.0)
    executor = LocalExecutor()
    await executor.start(given)
    output = given.run / attempt_files.OUTPUT
    while not output.stat().st_size:
        await anyio.sleep(0.01)
    await executor.stop(given.run)
    await executor.wait(given.run)
    size = output.stat().st_size
    assert size > 40_000_000, "it went on until it was killed"
    assert output.stat().st_blocks * 512 < size / 2


async def test_an_agent_that_removes_its_output_works_on_to_its_own_end(tmp_path: Path) -> None:
    script = 'rm "$1"; sleep 2.5; exit 7'  # the runner looks once a second
    given = launch(tmp_path, "")
    output = given.run / attempt_files.OUTPUT
    given = replace(given, argv=("/bin/sh", "-c", script, "sh", str(output)))
    executor = LocalExecutor()
    await executor.start(given)
    evidence = await executor.wait(given.run)
    assert isinstance(evidence, Ended)
    assert (evidence.record.end, evidence.record.code) == (AttemptEnd.EXITED, 7)
