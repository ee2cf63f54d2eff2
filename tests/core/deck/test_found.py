"""What is odd about a deck's files is shown when it opens, and the rest of its work goes on."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from batchdeck.core.commands import ReleaseHold, SetLimit
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio

ATTEMPT = "0123456789abcdef0123456789abcdef"


async def closed_deck(tmp_path: Path, tasks: list[TaskSpec]) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(batch_spec("b", tasks, [demo_agent("a", 4)]))


def change(tmp_path: Path, *statements: str) -> None:
    raw = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
    for statement in statements:
        raw.execute(statement)
    raw.close()


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE turns SET trigger = 'nonsense' WHERE id = 2", "turn 2"),
        ("UPDATE turns SET lane = 'SOMEWHERE' WHERE id = 2", "turn 2"),
        ("UPDATE tasks SET status = 'PERHAPS' WHERE id = 2", "task 2"),
    ],
)
async def test_a_row_that_nobody_can_read_is_set_aside_and_the_rest_runs(
    tmp_path: Path, damage: str, named: str
) -> None:
    await closed_deck(tmp_path, [TaskSpec(f"T{n}", "a") for n in range(1, 4)])
    change(tmp_path, damage)
    async with bench(tmp_path) as here:
        assert named in (here.view.banner or "")
        await here.deck.submit(SetLimit(name="global", value=4))
        await here.end(1)
        await here.end(3)
        assert here.puppets.begun == [1, 3]
        assert here.view.batches["b"].state is BatchState.RUNNING, "one of its tasks is not done"


async def test_what_needs_a_task_that_was_set_aside_goes_with_it(tmp_path: Path) -> None:
    needing = TaskSpec("T2", "a", depends_on=("T1",))
    await closed_deck(tmp_path, [TaskSpec("T1", "a"), needing, TaskSpec("T3", "a")])
    change(tmp_path, "UPDATE tasks SET status = 'PERHAPS' WHERE id = 1")
    async with bench(tmp_path) as here:
        assert "1 task that cannot do without them" in (here.view.banner or "")
        await here.deck.submit(SetLimit(name="global", value=4))
        await here.end(3)
        assert list(here.view.tasks) == [3]


async def test_an_unreadable_agent_takes_only_its_own_tasks_along(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        agents = [demo_agent("a", 4), demo_agent("other", 4)]
        await here.add(batch_spec("b", [TaskSpec("T1", "a"), TaskSpec("T2", "other")], agents))
    change(tmp_path, "UPDATE agents SET definition = '{' WHERE name = 'a'")
    async with bench(tmp_path) as here:
        assert "agent a" in (here.view.banner or "")
        await here.deck.submit(SetLimit(name="global", value=4))
        await here.end(2)


async def test_an_attempt_that_the_file_does_not_know_holds_its_turn(tmp_path: Path) -> None:
    await closed_deck(tmp_path, [TaskSpec("T1", "a"), TaskSpec("T2", "a")])
    run = tmp_path / ".batchdeck" / "runs" / ATTEMPT
    run.mkdir(parents=True)
    environment = {"BATCHDECK_TURN": "1", "BATCHDECK_TASK": "T1"}
    (run / "spec.json").write_text(json.dumps({"env": environment}))
    (run / "started.json").write_text("{}")
    async with bench(tmp_path) as here:
        assert "01234567… (task T1)" in (here.view.banner or "")
        assert "#1 held" in (here.view.banner or "")
        await here.deck.submit(SetLimit(name="global", value=4))
        await here.puppets.until_begun(2)
        assert here.view.turns[1].state is TurnState.QUEUED
        await here.deck.submit(ReleaseHold(what="#1"))
        await here.puppets.until_begun(1)


async def test_a_folder_of_an_attempt_that_never_began_disturbs_nobody(tmp_path: Path) -> None:
    await closed_deck(tmp_path, [TaskSpec("T1", "a")])
    (tmp_path / ".batchdeck" / "runs" / ATTEMPT).mkdir(parents=True)
    async with bench(tmp_path) as here:
        assert here.view.banner is None
