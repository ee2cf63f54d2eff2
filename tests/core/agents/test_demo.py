"""A demo agent plays its script, the same way each time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from batchdeck.core.agents.adapter import Assignment, Outcome
from batchdeck.core.agents.demo import DemoAgent
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.turn import AttemptEnd, TurnState
from tests.core.agents.support import assignment, control

pytestmark = pytest.mark.anyio


def given(tmp_path: Path, task: str = "T1", **script: Any) -> Assignment:
    return assignment(tmp_path, Agent("actor", AgentKind.DEMO, script=script), task=task)


async def play(assigned: Assignment) -> Outcome:
    return await DemoAgent().run(assigned, control())


async def test_the_same_attempt_always_plays_the_same(tmp_path: Path) -> None:
    script = {"seconds": 0, "fail": 0.5, "ask": 0.3, "lines": 4, "seed": 7}

    first = [await play(given(tmp_path, f"T{number}", **script)) for number in range(40)]
    again = [await play(given(tmp_path, f"T{number}", **script)) for number in range(40)]

    assert first == again
    assert {outcome.state for outcome in first} == {
        TurnState.SUCCEEDED,
        TurnState.FAILED,
        TurnState.WAITING,
    }


async def test_another_attempt_or_seed_plays_something_else(tmp_path: Path) -> None:
    script: dict[str, Any] = {"seconds": 0, "fail": 0.5, "lines": 0}
    tasks = [f"T{number}" for number in range(60)]

    async def states(number: int, seed: int) -> list[TurnState]:
        assigned = [given(tmp_path, task, seed=seed, **script) for task in tasks]
        return [(await play(replace(one, number=number))).state for one in assigned]

    assert len({tuple(await states(*key)) for key in [(1, 1), (2, 1), (1, 2)]}) == 3


async def test_it_writes_its_lines(tmp_path: Path) -> None:
    assigned = given(tmp_path, seconds=0.02, lines=3)

    outcome = await play(assigned)

    lines = (assigned.run / "output").read_text().splitlines()
    assert len(lines) == 3
    assert outcome == Outcome(TurnState.SUCCEEDED, exit_code=0, text=lines[-1])


async def test_without_lines_it_makes_nothing(tmp_path: Path) -> None:
    assigned = given(tmp_path, seconds=0, lines=0)

    assert (await play(assigned)).state is TurnState.SUCCEEDED
    assert not assigned.run.exists()


async def test_a_question_is_asked_once(tmp_path: Path) -> None:
    assigned = given(tmp_path, seconds=0, lines=0, ask=1)
    asked = await play(assigned)
    assert asked.question is not None
    assert asked.state is TurnState.WAITING

    assert (await play(replace(assigned, session=asked.session))).state is TurnState.SUCCEEDED


@pytest.mark.parametrize("lines", [0, 5])
async def test_a_stop_is_prompt(tmp_path: Path, lines: int) -> None:
    reach = control()
    outcomes = []

    async def run() -> None:
        outcomes.append(await DemoAgent().run(given(tmp_path, seconds=600, lines=lines), reach))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            reach.stop.set()

    assert [outcome.end for outcome in outcomes] == [AttemptEnd.STOPPED]


async def test_seconds_may_be_a_span(tmp_path: Path) -> None:
    assert (await play(given(tmp_path, seconds=[0.0, 0.01], lines=0))).exit_code == 0


async def test_it_cannot_be_adopted(tmp_path: Path) -> None:
    outcome = await DemoAgent().adopt(given(tmp_path), control())

    assert outcome.state is TurnState.LOST
