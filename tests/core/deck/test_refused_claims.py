"""A claim that the database refuses for good holds what it is about, and nothing else."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from batchdeck.core.commands import PutHold, ReleaseHold, SetLimit
from batchdeck.core.deck.unstartable import BY
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


def change_file(tmp_path: Path, statement: str) -> None:
    """As another program does."""
    raw = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
    raw.execute(statement)
    raw.close()


async def test_a_cap_that_is_raised_between_two_supervisors_lets_more_start(
    tmp_path: Path,
) -> None:
    tasks = [TaskSpec(f"T{n}", "a") for n in range(1, 7)]
    async with bench(tmp_path, parallelism_limit_cap=2) as here:
        await here.deck.submit(SetLimit(name="global", value=8))
        await here.add(batch_spec("b", tasks, [demo_agent("a", None)]))
        await here.puppets.until_begun(1, 2)
    async with bench(tmp_path, parallelism_limit_cap=4) as here:
        view = await here.until(lambda view: len(view.live) == 4)
        assert view.fault is None
        assert [turn.held_by for turn in view.turns.values()] == [None] * 6


async def test_a_limit_that_another_program_has_bound_is_bound_anew(tmp_path: Path) -> None:
    tasks = [TaskSpec(f"T{n}", "a") for n in range(1, 4)]
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(batch_spec("b", tasks, [demo_agent("a", 3)]))
        change_file(tmp_path, "UPDATE limits SET binding = 1 WHERE name = 'agent:a'")
        await here.deck.submit(ReleaseHold(what="deck"))
        view = await here.until(lambda view: len(view.live) == 3)
        assert view.fault is None


async def held_one_behind_what_cannot_be_read(tmp_path: Path) -> None:
    """Three tasks in a held deck; the row of the first, in whose line the second is, is spoilt."""
    tasks = [TaskSpec("T1", "a", target="x"), TaskSpec("T2", "a", target="x"), TaskSpec("T3", "a")]
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(batch_spec("b", tasks, [demo_agent("a", 3)]))
    change_file(tmp_path, "UPDATE turns SET trigger = 'bogus' WHERE id = 1")


async def refused_and_held(here: Bench) -> None:
    await here.deck.submit(ReleaseHold(what="deck"))
    await here.puppets.until_begun(3)
    await here.until(lambda view: view.turns[2].held_by)


async def test_a_turn_behind_one_that_cannot_be_read_is_held_and_the_others_start(
    tmp_path: Path,
) -> None:
    await held_one_behind_what_cannot_be_read(tmp_path)
    async with bench(tmp_path) as here:
        await refused_and_held(here)
        assert here.view.turns[2].held_by == BY
        assert here.view.live == (3,)
        assert here.view.fault is None
        told = [event for event in await here.deck.events(0, 100) if event.kind == "hold"]
        assert "doctor" in str(dict(told[-1].fields)["reason"])


async def test_commands_are_carried_out_while_the_database_refuses_a_claim(
    tmp_path: Path,
) -> None:
    await held_one_behind_what_cannot_be_read(tmp_path)
    async with bench(tmp_path) as here:
        released = await here.deck.submit(ReleaseHold(what="deck"))
        changed = await here.deck.submit(SetLimit(name="batch:b", value=5))
        assert released.accepted, released.message
        assert changed.accepted, changed.message
        await here.end(3)
        assert here.view.turns[3].state is TurnState.SUCCEEDED


async def test_what_is_released_and_still_refused_is_held_again(tmp_path: Path) -> None:
    await held_one_behind_what_cannot_be_read(tmp_path)
    async with bench(tmp_path) as here:
        await refused_and_held(here)
        released = await here.deck.submit(ReleaseHold(what="#2"))
        assert released.accepted, released.message
        await here.until(lambda view: view.turns[2].held_by == BY)
        change_file(tmp_path, "UPDATE turns SET state = 7, ended_ms = 1 WHERE id = 1")
        await here.deck.submit(ReleaseHold(what="#2"))
        await here.puppets.until_begun(2)
