"""When the engine itself, or its disk, fails: told to everybody, and nothing is stranded."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from batchdeck.core.commands import SetLimit
from batchdeck.core.deck.handling import limits
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.store.changes import Changes
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


def spec(count: int = 2):
    return batch_spec(
        "b", [TaskSpec(f"T{n}", "a") for n in range(1, count + 1)], [demo_agent("a", 1)]
    )


async def test_a_fault_of_ours_stops_admissions_and_what_runs_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a bug")

    async with bench(tmp_path) as here:
        await here.add(spec())
        with monkeypatch.context() as patched:
            patched.setattr(limits, "set_limit", broken)
            receipt = await here.deck.submit(SetLimit(name="global", value=3))
        assert not receipt.accepted
        assert "batchdeck itself failed (KeyError)" in receipt.message
        assert here.view.fault == receipt.message
        await here.end(1)
        assert here.view.tasks[1].status is Status.DONE
        assert here.view.running == 0, "nothing new starts"


async def test_a_disk_that_is_full_loses_no_outcome_and_goes_on_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        write = Changes.write
        full = [True]

        def refuse(self: Changes, raw: sqlite3.Connection) -> dict[int, str]:
            if full[0]:
                raise sqlite3.OperationalError("database or disk is full")
            return write(self, raw)

        monkeypatch.setattr(Changes, "write", refuse)
        here.puppets.end(1)
        view = await here.until(lambda view: view.fault is not None)
        assert "disk is full" in (view.fault or "")
        assert view.live == (1,), "what is not on disk is not shown"
        refused = await here.deck.submit(SetLimit(name="global", value=3))
        assert "disk is full" in refused.message
        full[0] = False
        view = await here.until(lambda view: view.tasks[1].status is Status.DONE)
        await here.until(lambda view: view.fault is None and view.live == (2,))


async def test_rows_changed_by_another_program_are_noticed_by_the_sweep(tmp_path: Path) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.add(spec(3))
        other = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
        other.execute("UPDATE limits SET value = 3, binding = 3 WHERE name = 'agent:a'")
        other.close()
        await here.until(lambda view: view.running == 3)


async def test_a_claim_that_the_database_refuses_is_thought_over_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec(2))
        other = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
        other.execute("UPDATE limits SET value = 0, binding = 0 WHERE name = 'agent:a'")
        other.close()
        receipt = await here.deck.submit(SetLimit(name="global", value=4))
        assert receipt.accepted
        assert here.view.running == 0
        assert here.view.limits["agent:a"].value == 0
        assert here.view.fault is None
