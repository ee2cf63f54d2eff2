"""Folders of attempts that are over are kept as long as the configuration says, others always."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import SetLimit
from batchdeck.core.deck import pruning
from batchdeck.core.deck.pruning import Retention, forget_events, prune
from batchdeck.core.model.spec import TaskSpec
from tests.support.builders import NOW, batch_spec, demo_agent
from tests.support.puppets import bench

DAY = 86_400_000


def attempts(runs: Path, *days_ago: float, size: int = 1_000_000) -> list[tuple[str, int]]:
    """Folders of a megabyte each, the latest first."""
    made = []
    for number, days in enumerate(days_ago):
        (runs / f"r{number}").mkdir(parents=True)
        (runs / f"r{number}" / "output").write_bytes(b"x" * size)
        made.append((f"r{number}", int(NOW - days * DAY)))
    return made


@pytest.mark.parametrize(
    ("retention", "removed"),
    [
        (Retention(days=2), ["r2", "r3"]),
        (Retention(runs=1), ["r1", "r2", "r3"]),
        (Retention(megabytes=3.5), ["r3"]),
        (Retention(days=30, runs=10, megabytes=100), []),
    ],
)
def test_what_is_beyond_a_bound_goes(
    tmp_path: Path, retention: Retention, removed: list[str]
) -> None:
    over = attempts(tmp_path, 0, 1, 3, 9)
    assert prune(tmp_path, over, retention, NOW) == removed
    left = {run.name for run in tmp_path.iterdir()}
    assert left == {"r0", "r1", "r2", "r3"} - set(removed)


def test_without_a_configuration_a_bound_is_kept_and_nobodys_work_goes(tmp_path: Path) -> None:
    over = attempts(tmp_path, 0, 100, 200)
    work = tmp_path / "r1" / "scratch" / "result.txt"
    work.parent.mkdir()
    work.write_text("hours of it")
    (tmp_path / "r2" / "scratch").mkdir()
    unsaid = Retention.of({})
    assert prune(tmp_path, over, unsaid, NOW) == ["r1", "r2"]
    assert [entry.name for entry in (tmp_path / "r1").iterdir()] == ["scratch"]
    assert work.read_text() == "hours of it"
    assert not (tmp_path / "r2").exists()
    assert prune(tmp_path, over, unsaid, NOW) == [], "what is only work is not looked at again"


def test_what_a_configuration_says_takes_everything_and_null_is_no_bound(tmp_path: Path) -> None:
    over = attempts(tmp_path, 0, 100)
    (tmp_path / "r1" / "scratch").mkdir()
    (tmp_path / "r1" / "scratch" / "result.txt").write_text("hours of it")
    assert prune(tmp_path, over, Retention.of({"days": None}), NOW) == []
    assert prune(tmp_path, over, Retention.of({"days": 30}), NOW) == ["r1"]
    assert not (tmp_path / "r1").exists()


def test_what_is_kept_is_said_in_words() -> None:
    assert Retention.of({}).words == "kept for 90 days, at most 10000 MB"
    assert Retention(runs=5, megabytes=2).words == "kept for good, at most 5 attempts or 2 MB"
    assert Retention().words == "kept for good"


@pytest.mark.anyio
async def test_a_turn_that_has_not_ended_keeps_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(pruning, "EVERY_SECONDS", 0.02)
    async with bench(tmp_path, retention={"runs": 0}) as here:
        tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a")]
        await here.add(batch_spec("b", tasks, [demo_agent("a", 2)]))
        await here.puppets.until_begun(1, 2)
        runs = [here.puppets.assignments[turn].run for turn in (1, 2)]
        for run in runs:
            run.mkdir(parents=True)
        await here.end(1)
        with anyio.fail_after(10):
            while runs[0].exists():
                await anyio.sleep(0.01)
        assert runs[1].exists()


@pytest.mark.anyio
async def test_events_older_than_is_wanted_go_and_the_others_stay(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        for value in range(1, 6):
            await here.deck.submit(SetLimit(name="global", value=value))
        events = await here.deck.events()
        kept = events[-2:]
        other = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
        other.execute("UPDATE events SET at_ms = 1000 WHERE last_seq < ?", (kept[0].seq,))
        other.close()
        await forget_events(here.deck._reader, 2_000, here.deck.post)
        assert list(await here.deck.events()) == list(kept)
        await here.deck.submit(SetLimit(name="global", value=1))
        assert (await here.deck.events())[-1].seq == kept[-1].seq + 1
