"""Power that fails: whatever is left of the write-ahead log, the deck opens and is consistent.

The model is SQLite's own: what was synced is there, what follows is cut, zeroed or garbage
(sqlite.org/atomiccommit.html). Every frame of a log is an end that a power cut may have left.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from batchdeck.core.commands import OnBusy, Send
from batchdeck.core.doctor.finding import Grade
from batchdeck.core.doctor.rows import look_at_file, look_at_rows
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.store.migrate import migrations, version
from tests.support.builders import batch_spec, demo_agent
from tests.support.length import so_many
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio

HEADER, FRAME = 32, 24 + 4096
"""Bytes of the log's header, and of a frame with its page."""


@pytest.fixture
async def left(tmp_path: Path) -> tuple[bytes, bytes]:
    """The file and the log of a deck whose machine went off in the middle of its work."""
    deck = DeckPaths(tmp_path / "deck" / ".batchdeck").root
    (tmp_path / "deck").mkdir()
    tasks = [TaskSpec(f"T{n}", "ab"[n % 2]) for n in range(1, 9)]
    tasks.append(TaskSpec("T9", "a", depends_on=("T1",)))
    agents = [demo_agent("a", 2), demo_agent("b", 1)]
    async with bench(tmp_path / "deck") as here:
        await here.add(batch_spec("docs", tasks, agents))
        await here.deck.submit(Send(to="a", text="one more", on_busy=OnBusy.QUEUE))
        for state in (TurnState.SUCCEEDED, TurnState.FAILED, TurnState.SUCCEEDED):
            await here.end(min(here.view.live), state)
        return (deck / "deck.db").read_bytes(), (deck / "deck.db-wal").read_bytes()


def images(log: bytes) -> Iterator[bytes]:
    """What a power cut may have left of a log; with as many more pages of it lost at random."""
    dice = random.Random(4)
    for _ in range(so_many(0, 600)):
        page = dice.randrange(0, len(log) - 4096)
        yield log[:page] + bytes(4096) + log[page + 4096 :]
    for end in range(HEADER, len(log) + 1, FRAME):
        for cut in (end - 1, end, end + 1):
            yield log[:cut]
        yield log[:end] + bytes(len(log) - end)
        yield log[:end] + dice.randbytes(min(FRAME, len(log) - end)) + log[end + FRAME :]
    yield b""


def restored(folder: Path, file: bytes, log: bytes) -> DeckPaths:
    paths = DeckPaths(folder)
    folder.mkdir(mode=0o700)
    paths.database.write_bytes(file)
    (folder / "deck.db-wal").write_bytes(log)
    return paths


async def test_whatever_is_left_of_the_log_the_deck_is_consistent(
    tmp_path: Path, left: tuple[bytes, bytes]
) -> None:
    file, log = left
    seen, tried = set(), 0
    for number, image in enumerate(images(log)):
        paths = restored(tmp_path / f"image{number}", file, image)
        with closing(sqlite3.connect(paths.database)) as raw:
            raw.row_factory = sqlite3.Row
            if version(raw) == migrations()[-1].number:
                found = [*look_at_file(raw), *look_at_rows(raw, paths, supervised=True)[0]]
                broken = [one.words for one in found if one.grade is Grade.PROBLEM]
                assert broken == [], f"image {number}"
                seen.add(raw.execute("SELECT max(last_seq) FROM events").fetchone()[0])
        shutil.rmtree(paths.root)
        tried += 1
    assert tried > 300
    assert len(seen) > 5, "each transaction is one more state that is found"


async def test_a_log_whose_pages_are_in_the_file_already_changes_nothing(
    tmp_path: Path, left: tuple[bytes, bytes]
) -> None:
    """A checkpoint was over, and the log's new header was not on disk yet."""
    file, log = left
    paths = restored(tmp_path / "deck2", file, log)
    with closing(sqlite3.connect(paths.database)) as raw:
        before = "\n".join(raw.iterdump())
        raw.execute("PRAGMA wal_checkpoint(FULL)")
    again = restored(tmp_path / "deck3", paths.database.read_bytes(), log)
    with closing(sqlite3.connect(again.database)) as raw:
        assert "\n".join(raw.iterdump()) == before
        assert raw.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


async def test_a_deck_goes_on_from_the_middle_of_its_log(
    tmp_path: Path, left: tuple[bytes, bytes]
) -> None:
    file, log = left
    dice = random.Random(5)
    ends = range(HEADER, len(log), FRAME)
    for number, end in enumerate(sorted(dice.sample(ends, 6))):
        place = tmp_path / f"again{number}"
        place.mkdir()
        restored(place / ".batchdeck", file, log[: end + dice.randrange(FRAME)])
        async with bench(place) as here:
            view = await here.until(lambda view: view.live or not view.queued)
            while view.live:
                await here.end(min(view.live))
                view = await here.until(lambda view: view.live or not view.queued)
            assert not view.violations
