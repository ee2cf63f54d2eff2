"""A file that cannot be written for a while loses nothing, and the deck goes on by itself."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio.lowlevel
import pytest

from batchdeck.core.commands import SetLimit, StopTurn
from batchdeck.core.errors import StoreError
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio

LOCKER = """
import sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


def spec(count: int = 3):
    tasks = [TaskSpec(f"T{n}", "a") for n in range(1, count + 1)]
    return batch_spec("b", tasks, [demo_agent("a", 1)])


def file_of(tmp_path: Path) -> Path:
    return tmp_path / ".batchdeck" / "deck.db"


@contextmanager
def locked_by_another_program(tmp_path: Path) -> Iterator[None]:
    command = [sys.executable, "-c", LOCKER, str(file_of(tmp_path))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as locker:
        assert locker.stdin is not None
        assert locker.stdout is not None
        assert locker.stdout.readline() == b"locked\n"
        yield
        locker.stdin.close()


async def no_more_pages(here: Bench, more: int = 0) -> None:
    """Lets the file grow by so many pages and no more, as on a full disk."""

    def limit(raw: sqlite3.Connection) -> None:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count = {pages + more}")

    await here.deck._connection.run(limit)  # the writer's own


async def room_again(here: Bench) -> None:
    await here.deck._connection.run(lambda raw: raw.execute("PRAGMA max_page_count = 1000000"))


async def test_locked_by_another_program_nothing_is_lost_and_it_goes_on(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        with locked_by_another_program(tmp_path):
            here.puppets.end(1)
            view = await here.until(lambda view: view.fault)
            assert "locked" in view.fault
            assert view.turns[1].state is TurnState.RUNNING, "a view never shows what is not saved"
            refused = await here.deck.submit(SetLimit(name="global", value=2))
            assert not refused.accepted
            assert "locked" in refused.message
        view = await here.until(lambda view: view.fault is None and view.live == (2,))
        assert view.turns[1].state is TurnState.SUCCEEDED
        for turn in (2, 3):
            await here.end(turn)
        assert here.view.batches["b"].state is BatchState.COMPLETED
        assert here.puppets.begun == [1, 2, 3]


async def test_while_it_is_locked_the_view_is_there_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        with locked_by_another_program(tmp_path):
            here.puppets.end(1)
            await here.until(lambda view: view.fault)
            longest = 0.0
            for _ in range(50):
                before = time.monotonic()
                await anyio.lowlevel.checkpoint()
                assert here.view.turns
                longest = max(longest, time.monotonic() - before)
            assert longest < 0.1
        await here.until(lambda view: view.fault is None)


async def test_a_stop_stops_now_and_is_recorded_later(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        with locked_by_another_program(tmp_path):
            stopped = await here.deck.submit(StopTurn(turn=1))
            assert not stopped.accepted
            await here.puppets.until_stopped(1)
        await here.until(lambda view: view.turns[1].state is TurnState.CANCELLED)
        assert here.view.tasks[1].status is Status.READY
        assert here.view.turns[here.view.tasks[1].turn].held_by == "operator"


async def test_leaving_while_it_is_locked_is_quick_and_settled_next_time(tmp_path: Path) -> None:
    with ExitStack() as stack:
        async with bench(tmp_path) as here:
            await here.add(spec())
            await here.puppets.until_begun(1)
            stack.enter_context(locked_by_another_program(tmp_path))
            here.puppets.end(1)
            await here.until(lambda view: view.fault)
            begun = time.monotonic()
        assert time.monotonic() - begun < 4.0
    async with bench(tmp_path) as here:
        await here.puppets.until_begun(1)
        assert here.view.live == (1,)


async def test_a_full_disk_at_a_claim_holds_up_and_loses_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec())
        await no_more_pages(here)
        big = await here.deck.submit(SetLimit(name="global", value=1, by="x" * 9000))
        assert not big.accepted
        assert "full" in big.message
        assert here.view.live == ()
        await room_again(here)
        assert (await here.deck.submit(SetLimit(name="global", value=1))).accepted
        await here.end(1)
        assert here.view.tasks[1].status is Status.DONE


async def test_a_full_disk_at_an_end_keeps_the_news_until_there_is_room(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        await no_more_pages(here)
        here.puppets.end(1, text="y" * 50_000)
        view = await here.until(lambda view: view.fault)
        assert "full" in view.fault
        assert view.turns[1].state is TurnState.RUNNING
        await room_again(here)
        await here.until(lambda view: view.turns[1].state is TurnState.SUCCEEDED)
        await here.puppets.until_begun(2)
        assert here.view.fault is None


async def test_a_damaged_file_is_refused_in_words(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(200))
    pages = bytearray(file_of(tmp_path).read_bytes())
    for page in range(1, len(pages) // 4096):
        pages[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    file_of(tmp_path).write_bytes(pages)
    with pytest.raises(StoreError, match="damaged"):
        async with bench(tmp_path):
            pass


async def test_a_file_that_is_no_database_is_refused_in_words(tmp_path: Path) -> None:
    file_of(tmp_path).parent.mkdir()
    file_of(tmp_path).write_text("this is not a database at all" * 200)
    with pytest.raises(StoreError, match="not a database"):
        async with bench(tmp_path):
            pass


async def test_a_file_of_a_newer_version_is_left_untouched(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
    raw = sqlite3.connect(file_of(tmp_path), isolation_level=None)
    raw.execute("PRAGMA user_version = 99")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    before = hashlib.sha256(file_of(tmp_path).read_bytes()).hexdigest()
    with pytest.raises(StoreError, match="newer"):
        async with bench(tmp_path):
            pass
    assert hashlib.sha256(file_of(tmp_path).read_bytes()).hexdigest() == before
