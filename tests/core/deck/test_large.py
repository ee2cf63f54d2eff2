"""A large batch is added in parts: others are answered in between, and half of it is nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import (
    AddBatch,
    AddTask,
    BlockTask,
    OnBusy,
    PutHold,
    ReleaseHold,
    ResumeBatch,
    Send,
    SetLimit,
)
from batchdeck.core.deck import setbacks
from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.handling import parts
from batchdeck.core.deck.letters import Letter, Part
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.rules.gates import evaluate, shut
from batchdeck.core.store.changes import INSERT_TASK, Changes
from batchdeck.core.view import DeckView
from tests.core.deck.test_foreach import ONE, finish, spec, turn
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import PATIENCE, Bench, bench

pytestmark = pytest.mark.anyio

AT_ONCE = 10
PARTS = 4
MANY = PARTS * AT_ONCE - 1
"""With its barrier a foreach of so many items fills its parts."""


class Adding:
    """Keeps each further part of a batch back until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parts, "MOST_AT_ONCE", AT_ONCE)
        self.kept: list[tuple[Engine, Part]] = []
        self.free = False
        self._news = anyio.Event()
        self._post = Engine.post

        def post(engine: Engine, letter: Letter) -> None:
            if self.free or not isinstance(letter, Part):
                self._post(engine, letter)
                return
            self.kept.append((engine, letter))
            self._news.set()

        monkeypatch.setattr(Engine, "post", post)

    async def until_kept(self) -> None:
        """Waits until a part is on disk, and another is to follow."""
        with anyio.fail_after(PATIENCE):
            await self._news.wait()
        self._news = anyio.Event()

    def let_go(self, *, all_of_it: bool = False) -> None:
        self.free = all_of_it
        self._post(*self.kept.pop())


@pytest.fixture
def adding(monkeypatch: pytest.MonkeyPatch) -> Adding:
    return Adding(monkeypatch)


def count(view: DeckView, batch: str = "b") -> int:
    return sum(task.batch == batch and not task.barrier for task in view.tasks.values())


async def add_half(here: Bench, adding: Adding, batch: BatchSpec) -> None:
    """Adds two parts, and no more before the deck closes."""
    async with anyio.create_task_group() as group:
        group.start_soon(here.deck.submit, AddBatch(spec=batch))
        await adding.until_kept()
        adding.let_go()
        await adding.until_kept()
        group.cancel_scope.cancel()
    assert len(here.view.tasks) >= 2 * AT_ONCE


def tables(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """What is on disk, but for what happened and what was asked."""
    left_out = ("facts", "events", "commands", "sqlite_stat1")
    with closing(sqlite3.connect(DeckPaths(folder / ".batchdeck").database)) as raw:
        names = raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: sorted(raw.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for (name,) in names
            if name not in left_out
        }


async def test_others_are_answered_while_it_is_added_and_nothing_of_it_starts(
    tmp_path: Path, adding: Adding
) -> None:
    async with bench(tmp_path) as here:
        async with anyio.create_task_group() as group:
            group.start_soon(here.add, spec(tmp_path, MANY))
            await adding.until_kept()
            assert (await here.deck.submit(SetLimit(name="global", value=3))).accepted
            view = here.view
            assert (view.live, count(view)) == ((), AT_ONCE)
            first = shut(evaluate(view.turns[turn(view, 0)], view, 0))[0]
            assert (first.name, first.subject) == (GateName.HOLD, "batch b is being added")
            assert first.frees == "when all of it is there"
            adding.let_go(all_of_it=True)
        assert len(here.view.live) == 3
        assert count(here.view) == MANY
        await here.deck.audit()
        assert here.view.violations == ()


async def test_no_transaction_of_it_is_larger_than_a_part(
    tmp_path: Path, adding: Adding, monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[int] = []
    write = Changes.write

    def counted(changes: Changes, raw: sqlite3.Connection) -> dict[int, str]:
        added.append(len(changes.rows.get(INSERT_TASK, ())))
        return write(changes, raw)

    monkeypatch.setattr(Changes, "write", counted)
    adding.free = True
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, MANY))
    assert [rows for rows in added if rows] == [AT_ONCE] * PARTS


async def test_what_needs_each_other_comes_together(tmp_path: Path, adding: Adding) -> None:
    adding.free = True
    tasks = [TaskSpec(f"T{n}", "a") for n in range(MANY)]
    tasks[5] = TaskSpec("T5", "a", depends_on=(f"T{AT_ONCE + 2}",))
    tasks[-1] = TaskSpec(f"T{MANY - 1}", "a", depends_on=("T0",))
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        found = list(here.view.tasks.values())
        assert [task.key for task in found] == [task.key for task in tasks]
        assert here.view.tasks[found[5].depends_on[0]].key == f"T{AT_ONCE + 2}"


async def test_half_of_it_is_taken_away_and_its_file_is_added_once(
    tmp_path: Path, adding: Adding
) -> None:
    batch = spec(tmp_path, MANY, [{**ONE, "conversation": "log"}])
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(batch_spec("other", [TaskSpec("T1", "c")], [demo_agent("c", 1)]))
    before = tables(tmp_path)
    async with bench(tmp_path) as here:
        await add_half(here, adding, batch)
    last = max(tables(tmp_path)["turns"])[0]
    async with bench(tmp_path) as here:
        words = (
            "Batch b was not added to its end, and nothing of that was kept: run its file again."
        )
        assert words in (here.view.banner or "")
        assert tables(tmp_path) == before
        adding.free = True
        await here.add(batch)
        assert count(here.view) == MANY
        assert turn(here.view, 0) > int(str(last)), "no number is given again"
    async with bench(tmp_path) as here:
        assert here.view.banner is None
        await here.add(batch)
        assert count(here.view) == MANY


async def test_a_part_that_could_not_be_written_is_written_later(
    tmp_path: Path, adding: Adding, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, refused = Changes.write, [False, False]

    def full(changes: Changes, raw: sqlite3.Connection) -> dict[int, str]:
        if INSERT_TASK in changes.rows and refused and refused.pop():
            raise sqlite3.OperationalError("disk I/O error")
        return write(changes, raw)

    monkeypatch.setattr(Changes, "write", full)
    monkeypatch.setattr(setbacks, "RETRY_SECONDS", 0)
    refused[0] = True  # the second part
    adding.free = True
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, MANY))
        assert [task.index for task in here.view.tasks.values()] == [*range(MANY), None]
        assert len({task.conversation for task in here.view.tasks.values()}) == MANY + 1
        assert (here.view.fault, len(here.view.live)) == (None, 4)


async def test_a_batch_that_was_there_is_as_it_was(tmp_path: Path, adding: Adding) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(spec(tmp_path, 2))
    before = tables(tmp_path)
    async with bench(tmp_path) as here:
        more = {"on_error": "collect", "collect_to": "x", "foreach": {"max_active": 1}}
        await add_half(here, adding, spec(tmp_path, MANY, **more))
    async with bench(tmp_path) as here:
        assert tables(tmp_path) == before
        await here.deck.submit(ReleaseHold(what="deck"))
        assert len(here.view.live) == 2


async def test_what_would_change_it_meanwhile_is_refused(tmp_path: Path, adding: Adding) -> None:
    words = "b is being added at this moment; try again."
    async with bench(tmp_path) as here, anyio.create_task_group() as group:
        await here.add(batch_spec("other", [], [demo_agent("c", 1)]))
        group.start_soon(here.add, spec(tmp_path, MANY))
        await adding.until_kept()
        again = await here.deck.submit(AddBatch(spec=spec(tmp_path, 2)))
        one = await here.deck.submit(AddTask(task=TaskSpec("T1", "c", prompt="x"), batch="b"))
        assert (again.message, one.message) == (words, words)
        await here.deck.submit(PutHold(what="batch:b"))
        await here.deck.submit(ReleaseHold(what="batch:b"))
        await here.deck.submit(ResumeBatch(batch="b"))
        assert here.view.live == ()
        adding.let_go(all_of_it=True)


async def test_what_was_said_about_a_task_of_it_goes_with_it(
    tmp_path: Path, adding: Adding
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("other", [], [demo_agent("a", 9)]))
    before = tables(tmp_path)
    async with bench(tmp_path) as here, anyio.create_task_group() as group:
        group.start_soon(here.deck.submit, AddBatch(spec=spec(tmp_path, MANY)))
        await adding.until_kept()
        said = Send(to="item-0", text="hello", on_busy=OnBusy.QUEUE, delivery_id="d1")
        assert (await here.deck.submit(said)).accepted
        assert (await here.deck.submit(BlockTask(task="item-1", question="why?"))).accepted
        await here.deck.submit(PutHold(what=f"turn:{turn(here.view, 2)}"))
        group.cancel_scope.cancel()
    async with bench(tmp_path) as here:
        assert tables(tmp_path) == before


async def test_a_batch_that_fails_meanwhile_has_failed(tmp_path: Path, adding: Adding) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, on_error="fail"))
        await here.puppets.until_begun(turn(here.view, 0), turn(here.view, 1))
        async with anyio.create_task_group() as group:
            group.start_soon(here.add, spec(tmp_path, MANY, on_error="fail"))
            await adding.until_kept()
            await finish(here, 0, state=TurnState.FAILED)
            adding.let_go(all_of_it=True)
        await finish(here, 1)
        await here.until(lambda view: view.batches["b"].state is BatchState.FAILED)
        assert here.view.live == ()
        await here.deck.audit()
        assert here.view.violations == ()
