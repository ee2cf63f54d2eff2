"""Preparation runs once per batch and folder, one at a time, and its failure ends nothing."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from batchdeck.core.agents.adapter import Assignment, Control
from batchdeck.core.agents.preparing import Preparation
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.turn import TurnState
from tests.core.executors.support import left

pytestmark = pytest.mark.anyio

NOTE = "import os, sys, time; open(sys.argv[1], 'a').write(os.getcwd() + '\\n')"


def assignment(tmp_path: Path, folder: Path, *command: str, number: int = 1) -> Assignment:
    folder.mkdir(exist_ok=True)
    return Assignment(
        turn=number,
        attempt=f"{number:032x}",
        number=1,
        agent=Agent("a", AgentKind.COMMAND),
        prompt="",
        runs=tmp_path / "runs",
        folder=folder,
        folder_key=str(folder),
        batch="b",
        prepare=(command,),
        environment=os.environ,
    )


async def test_it_runs_once_for_a_folder_however_many_turns_work_there(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    preparation = Preparation(LocalExecutor())
    async with anyio.create_task_group() as turns:
        for number in range(1, 5):
            place = tmp_path / f"folder{number % 2}"
            given = assignment(
                tmp_path, place, sys.executable, "-c", NOTE, str(ledger), number=number
            )
            control = Control(started=lambda _: None)
            turns.start_soon(preparation.carry_out, given, control)
    places = sorted(ledger.read_text().split())
    assert places == [str(tmp_path / "folder0"), str(tmp_path / "folder1")]


ALONE = """
import os, sys, time
os.mkdir(sys.argv[1])  # fails where another one is at it
time.sleep(0.2)
os.rmdir(sys.argv[1])
"""


async def test_no_two_are_at_work_at_once_whatever_their_batches_and_folders(
    tmp_path: Path,
) -> None:
    preparation = Preparation(LocalExecutor())
    outcomes = []

    async def prepare(number: int) -> None:
        shared = str(tmp_path / "tools")
        given = assignment(
            tmp_path, tmp_path / f"f{number}", sys.executable, "-c", ALONE, shared, number=number
        )
        given = replace(given, batch=f"batch-{number % 2}")
        outcomes.append(await preparation.carry_out(given, Control(lambda _: None)))

    async with anyio.create_task_group() as turns:
        for number in range(1, 5):
            turns.start_soon(prepare, number)
    assert outcomes == [None] * 4
    assert len(list((tmp_path / "runs").glob("prepare-*"))) == 4
    assert preparation.one_at_a_time.borrowed_tokens == 0, "the turns' own work is not alone"


async def test_it_is_not_done_again_by_the_next_supervisor(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    given = assignment(tmp_path, tmp_path / "f", sys.executable, "-c", NOTE, str(ledger))
    for _ in range(2):
        outcome = await Preparation(LocalExecutor()).carry_out(given, Control(lambda _: None))
        assert outcome is None
    assert len(ledger.read_text().splitlines()) == 1


async def test_a_failure_is_one_of_the_surroundings_and_is_tried_again(tmp_path: Path) -> None:
    code = "import sys; print('looking'); print('no network'); print('see the log'); sys.exit(3)"
    given = assignment(tmp_path, tmp_path / "f", sys.executable, "-c", code)
    preparation = Preparation(LocalExecutor())
    for _ in range(2):
        outcome = await preparation.carry_out(given, Control(lambda _: None))
        assert outcome is not None
        assert outcome.surroundings == "folder"
        assert (outcome.error or "").endswith("exit 3: looking | no network | see the log")


async def test_a_missing_program_is_said(tmp_path: Path) -> None:
    given = assignment(tmp_path, tmp_path / "f", "no-such-program")
    outcome = await Preparation(LocalExecutor()).carry_out(given, Control(lambda _: None))
    assert outcome is not None
    assert "no-such-program" in (outcome.error or "")


async def test_stopping_the_turn_stops_its_preparation(tmp_path: Path) -> None:
    code = "import time; print('begun', flush=True); time.sleep(60)"
    given = assignment(tmp_path, tmp_path / "f", sys.executable, "-c", code)
    control = Control(lambda _: None)
    preparation = Preparation(LocalExecutor())
    found = []

    async def prepare() -> None:
        found.append(await preparation.carry_out(given, control))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as turns:
            turns.start_soon(prepare)
            while not list((tmp_path / "runs").glob("prepare-*/started.json")):
                await anyio.sleep(0.01)
            control.stop.set()
    assert found[0] is not None
    assert found[0].surroundings is None


async def test_a_turn_that_waits_for_anothers_preparation_hears_that_it_is_to_stop(
    tmp_path: Path,
) -> None:
    preparation = Preparation(LocalExecutor())
    given = assignment(tmp_path, tmp_path / "f", sys.executable, "-c", "pass")
    control = Control(lambda _: None)
    control.stop.set()
    with anyio.fail_after(10):
        async with preparation.one_at_a_time:  # somebody else's, without an end
            outcome = await preparation.carry_out(given, control)
    assert outcome is not None
    assert outcome.state is TurnState.CANCELLED


CHILD = """
import subprocess, time
subprocess.Popen(["sleep", "600"], start_new_session=True)
print("begun", flush=True)
time.sleep(600)
"""


async def kill_the_runner(tmp_path: Path) -> str:
    """Kills the runner of a preparation that has begun, and returns the mark of its processes."""
    while True:
        outputs = list((tmp_path / "runs").glob("prepare-*/output"))
        if outputs and "begun" in outputs[0].read_text():
            break
        await anyio.sleep(0.01)
    run = outputs[0].parent
    os.kill(json.loads((run / "started.json").read_text())["runner"], signal.SIGKILL)
    return run.name


async def test_where_its_runner_dies_nothing_of_it_goes_on(tmp_path: Path) -> None:
    given = assignment(tmp_path, tmp_path / "f", sys.executable, "-c", CHILD)
    found = []

    async def prepare() -> None:
        found.append(await Preparation(LocalExecutor()).carry_out(given, Control(lambda _: None)))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as turns:
            turns.start_soon(prepare)
            mark = await kill_the_runner(tmp_path)
    assert found[0] is not None
    assert left(mark) == []


async def test_what_an_earlier_supervisor_left_of_it_is_ended_before_it_begins_anew(
    tmp_path: Path,
) -> None:
    given = assignment(tmp_path, tmp_path / "f", sys.executable, "-c", CHILD)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as turns:
            turns.start_soon(Preparation(LocalExecutor()).carry_out, given, Control(lambda _: None))
            while not list((tmp_path / "runs").glob("prepare-*/output")):
                await anyio.sleep(0.01)
            turns.cancel_scope.cancel()
    mark = await kill_the_runner(tmp_path)
    earlier = left(mark)
    assert earlier, "a child of the killed runner's is still there"
    control = Control(lambda _: None)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as turns:
            turns.start_soon(Preparation(LocalExecutor()).carry_out, given, control)
            while set(left(mark)) & set(earlier):
                await anyio.sleep(0.05)
            control.stop.set()
    assert left(mark) == []
