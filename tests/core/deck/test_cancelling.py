"""Whoever waits for an answer may stop waiting at any moment: the command is done wholly or not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from batchdeck.core.commands import (
    AddBatch,
    Command,
    OnBusy,
    PutHold,
    Send,
    SetLimit,
    StopTurn,
)
from batchdeck.core.model.spec import TaskSpec
from tests.support.builders import batch_spec, demo_agent
from tests.support.length import so_many
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio

MOST_STEPS = 25
"""Turns of the event loop; an answer takes about ten."""

COMMANDS: dict[str, Command] = {
    "a batch": AddBatch(spec=batch_spec("c", [TaskSpec("C1", "a")], [demo_agent("a", 1)])),
    "a message": Send(to="a", text="hello", on_busy=OnBusy.QUEUE, id="x1"),
    "a forced message": Send(to="a", text="now", on_busy=OnBusy.FORCE, id="x2"),
    "a limit": SetLimit(name="agent:a", value=2),
    "a hold": PutHold(what="agent:a"),
    "a stop": StopTurn(turn=1),
}


def on_disk(folder: Path) -> tuple[int, int, int, int]:
    with closing(sqlite3.connect(folder / ".batchdeck" / "deck.db")) as raw:
        counts = [
            raw.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
            for what in ("turns", "tasks", "holds", "turns WHERE state BETWEEN 1 AND 2")
        ]
    return (counts[0], counts[1], counts[2], counts[3])


def in_memory(here: Bench) -> tuple[int, int, int, int]:
    view = here.view
    return (len(view.turns), len(view.tasks), len(view.holds), view.running)


@pytest.mark.parametrize("what", COMMANDS)
@pytest.mark.parametrize("steps", range(0, MOST_STEPS, so_many(2, 1)))
async def test_cancelled_at_any_step_it_is_done_wholly_or_not_at_all(
    tmp_path: Path, what: str, steps: int
) -> None:
    async with bench(tmp_path) as here:
        tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a")]
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        async with anyio.create_task_group() as seat:
            seat.start_soon(here.deck.submit, COMMANDS[what])
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            seat.cancel_scope.cancel()
        answered = await here.deck.submit(SetLimit(name="global", value=4))
        assert answered.accepted, "the writer goes on"
        await here.deck.audit()
        assert here.view.violations == ()
        assert in_memory(here) == on_disk(tmp_path)


@pytest.mark.parametrize("steps", range(0, 40, so_many(3, 1)))
async def test_a_deck_that_is_left_at_any_step_has_saved_what_it_has_answered(
    tmp_path: Path, steps: int
) -> None:
    answered: list[bool] = []
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))

        async def send() -> None:
            command = Send(to="a", text="hello", on_busy=OnBusy.QUEUE)
            answered.append((await here.deck.submit(command)).accepted)

        async with anyio.create_task_group() as seat:
            seat.start_soon(send)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            seat.cancel_scope.cancel()
    turns = on_disk(tmp_path)[0]
    assert turns in (1, 2)
    assert turns == 2 or not answered
