"""When the engine itself, or its disk, fails: told to everybody, and nothing is stranded."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest

from batchdeck.core.commands import (
    AnswerAsk,
    Command,
    PutHold,
    Receipt,
    Reconcile,
    ReleaseHold,
    RetryTask,
    SetLimit,
)
from batchdeck.core.deck.handling import limits
from batchdeck.core.deck.looking import look
from batchdeck.core.deck.reading import Reader
from batchdeck.core.deck.scheduler import Scheduler
from batchdeck.core.deck.setbacks import UNREADABLE
from batchdeck.core.errors import StoreError
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.store.changes import Changes
from batchdeck.core.store.connection import Connection
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


def broken(*_: object) -> None:
    raise KeyError("a bug")


def spec(count: int = 2):
    return batch_spec(
        "b", [TaskSpec(f"T{n}", "a") for n in range(1, count + 1)], [demo_agent("a", 1)]
    )


async def test_a_fault_of_ours_stops_admissions_and_what_runs_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        with monkeypatch.context() as patched:
            patched.setattr(Scheduler, "next", broken)
            await here.deck.submit(SetLimit(name="global", value=3))
            view = await here.until(lambda view: view.broken)
        assert "batchdeck itself failed (KeyError)" in (view.fault or "")
        await here.end(1)
        assert here.view.tasks[1].status is Status.DONE
        assert here.view.running == 0, "nothing new starts"
        with look(DeckPaths(tmp_path / ".batchdeck")) as outside:
            assert outside.view().fault == here.view.fault
    async with bench(tmp_path) as again:
        assert again.view.fault is None
        await again.until(lambda view: view.live == (2,))


async def test_a_command_that_makes_the_engine_fail_is_refused_and_all_else_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipts: list[Receipt] = []
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        monkeypatch.setattr(limits, "set_limit", broken)

        async def submit(command: Command) -> None:
            receipts.append(await here.deck.submit(command))

        here.puppets.end(1)  # in the same round as the commands
        async with anyio.create_task_group() as seats:
            seats.start_soon(submit, SetLimit(name="global", value=3))
            seats.start_soon(submit, PutHold(what="batch:b"))
        assert sorted(receipt.accepted for receipt in receipts) == [False, True]
        refused = next(receipt for receipt in receipts if not receipt.accepted)
        assert "batchdeck itself failed (KeyError)" in refused.message
        await here.until(lambda view: view.tasks[1].status is Status.DONE)
        assert "batch:b" in here.view.holds
        assert here.view.fault is None


@pytest.mark.parametrize(
    "said", [{"session": "s\ud800"}, {"tokens_in": 10**20}, {"text": "half \udcff"}]
)
async def test_what_an_agent_says_and_nobody_can_write_down_fails_its_turn_alone(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.end(1, **said)
        view = await here.until(lambda view: view.live == (2,))
        assert view.tasks[1].status is Status.FAILED
        assert view.turns[1].error == UNREADABLE
        assert not view.broken


async def test_a_question_that_cannot_be_looked_up_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        monkeypatch.setattr("batchdeck.core.deck.engine.look_up", broken)
        receipt = await here.deck.submit(SetLimit(name="global", value=3))
        assert not receipt.accepted
        assert "batchdeck itself failed (KeyError)" in receipt.message
        assert not here.view.broken


async def test_an_attempt_whose_conversation_cannot_be_read_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreadable(*_: object) -> str:
        raise StoreError("the disk does not answer")

    monkeypatch.setattr(Reader, "exchange", unreadable)
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "Which?")
        view = await here.until(lambda view: view.asks)
        await here.deck.submit(AnswerAsk(ask=min(view.asks), answer="this"))
        await here.end(2)
        view = await here.until(lambda view: view.tasks[1].status is Status.FAILED)
        assert view.tasks[1].error == "the disk does not answer"
        assert not view.broken


async def test_asking_for_a_look_at_a_busy_moment_finds_nothing_wrong_and_starts_nothing_twice(
    tmp_path: Path,
) -> None:
    tasks = [TaskSpec(f"T{number}", "a") for number in range(60)]
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=8))
        await here.add(batch_spec("b", tasks, [demo_agent("a", 8)]))
        over = anyio.Event()

        async def look_again_and_again() -> None:
            while not over.is_set():
                await here.deck.submit(Reconcile())

        async with anyio.create_task_group() as seats:
            seats.start_soon(look_again_and_again)
            for number in range(1, 61):
                await here.puppets.until_begun(number)
                here.puppets.end(number)
            await here.until(lambda view: view.batches["b"].state is BatchState.COMPLETED)
            over.set()
        assert len(here.puppets.begun) == 60
        assert "audit.violation" not in await here.kinds()


async def test_a_chain_of_tasks_fails_and_comes_back_however_long_it_is(tmp_path: Path) -> None:
    tasks = [TaskSpec("T1", "a")]
    tasks += [TaskSpec(f"T{n}", "a", depends_on=(f"T{n - 1}",)) for n in range(2, 1_501)]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        await here.end(1, TurnState.FAILED)
        view = await here.until(lambda view: view.batches["b"].state is not BatchState.RUNNING)
        assert view.task_counts["b"][Status.FAILED] == 1_500
        retried = await here.deck.submit(RetryTask(task="T1"))
        assert retried.turn is not None
        await here.end(retried.turn)
        await here.until(lambda view: view.task_counts["b"].get(Status.READY, 0) >= 1_498)


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


@pytest.mark.parametrize("last", ["held", "released"])
async def test_held_and_released_at_the_same_moment_the_last_word_counts_on_disk_too(
    tmp_path: Path, last: str
) -> None:
    words: list[Command] = [PutHold(what="agent:a"), ReleaseHold(what="agent:a")]
    async with bench(tmp_path) as here:
        await here.add(spec())
        if last == "held":
            await here.deck.submit(PutHold(what="agent:a"))
            words.reverse()
        async with anyio.create_task_group() as seats:
            for word in words:
                seats.start_soon(here.deck.submit, word)
        assert ("agent:a" in here.view.holds) == (last == "held")
    async with bench(tmp_path) as again:
        assert ("agent:a" in again.view.holds) == (last == "held")


async def test_a_fault_that_is_over_leaves_the_screen_though_nothing_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path, sweep_seconds=0.3) as here:
        real, locked = Connection.run, [True]

        async def run(connection: Connection, function: Any) -> Any:
            if function.__name__ == "data_version" and locked:
                raise StoreError("locked for a moment")
            return await real(connection, function)

        monkeypatch.setattr(Connection, "run", run)
        await here.until(lambda view: view.fault)
        locked.clear()
        await here.until(lambda view: view.fault is None)
