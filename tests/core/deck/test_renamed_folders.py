"""A folder that was renamed is known by its new path once somebody names it so."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.commands import PutHold
from batchdeck.core.model.spec import TaskSpec
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


async def add_work_in(here: Bench, batch: str, folder: Path) -> None:
    tasks = [TaskSpec("T1", "a", folder=str(folder))]
    await here.add(batch_spec(batch, tasks, [demo_agent("a", 1)]))


def paths(here: Bench) -> list[str | None]:
    return [turn.folder and turn.folder.path for turn in here.view.turns.values()]


async def test_what_waits_for_it_finds_it_there_also_after_a_restart(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await add_work_in(here, "b", before)
        before.rename(after)
        await add_work_in(here, "c", after)
        assert paths(here) == [str(after), str(after)]
        await here.deck.audit()
        assert here.view.violations == ()
    async with bench(tmp_path) as here:
        assert paths(here) == [str(after), str(after)]


async def test_another_spelling_of_it_renames_nothing(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await add_work_in(here, "b", real)
        await add_work_in(here, "c", link)
        assert paths(here)[0] == str(real)
    async with bench(tmp_path) as here:
        assert paths(here)[0] == str(real)
