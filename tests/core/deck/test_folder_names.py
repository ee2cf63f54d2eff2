"""A folder's name may be deleted while turns wait for it: they fall back, and somebody is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from batchdeck.core.commands import DefineFolders, OnBusy, Send
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


def spec(tmp_path: Path) -> BatchSpec:
    """T1 works, T2 waits for its agent, T3 works in a folder of its own name."""
    names = {"docs": str(tmp_path / "docs"), "site": str(tmp_path / "site")}
    for path in names.values():
        Path(path).mkdir()
    tasks = [
        TaskSpec("T1", "coder"),
        TaskSpec("T2", "coder", folder="docs"),
        TaskSpec("T3", "writer", folder="site"),
        TaskSpec("T4", "writer", folder="docs"),
    ]
    agents = [demo_agent("coder"), demo_agent("writer")]
    return batch_spec("b", tasks, agents, folders=names)


def places(here: Bench) -> list[str | None]:
    return [turn.folder and Path(turn.folder.path).name for turn in here.view.turns.values()]


async def test_what_waits_for_a_deleted_name_works_in_scratch_and_it_is_said(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path))
        await here.puppets.until_begun(1, 3)
        assert places(here) == [None, "docs", "site", "docs"]
        left = {"site": str(tmp_path / "site")}
        await here.deck.submit(DefineFolders(folders=left, by="config.yaml"))
        assert places(here) == [None, None, "site", None]
        assert "docs is defined no more: 2 turns" in (here.view.banner or "")
        told = [event for event in await here.deck.events() if event.kind == "folder.deleted"]
        assert [(event.fields["folder"], event.fields["turns"]) for event in told] == [
            ("docs", [2, 4])
        ]
        await here.end(1)
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].folder is None
        await here.deck.audit()
        assert here.view.violations == ()


async def test_an_agents_own_folder_takes_its_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        batch = spec(tmp_path)
        own = replace(demo_agent("coder"), folder="site")

        await here.add(batch_spec("b", batch.tasks[:2], [own], folders=dict(batch.folders)))
        await here.puppets.until_begun(1)
        left = {"site": str(tmp_path / "site")}
        await here.deck.submit(DefineFolders(folders=left))
        assert places(here) == ["site", "site"]


async def test_an_agent_whose_folder_was_deleted_works_in_scratch(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        batch = spec(tmp_path)
        own = replace(demo_agent("coder"), folder="site")

        await here.add(batch_spec("b", batch.tasks[:1], [own], folders=dict(batch.folders)))
        await here.puppets.until_begun(1)
        await here.deck.submit(Send(to="coder", text="and?", on_busy=OnBusy.QUEUE))
        await here.deck.submit(DefineFolders(folders={}))
        assert places(here) == ["site", None]
        assert here.view.agents["coder"].folder is None


async def test_it_is_noticed_when_the_deck_is_opened_and_survives_a_restart(
    tmp_path: Path,
) -> None:
    names = dict(spec(tmp_path).folders)
    async with bench(tmp_path, folders=names) as here:
        tasks = [TaskSpec("T1", "coder"), TaskSpec("T2", "coder", folder="docs")]
        await here.add(batch_spec("b", tasks, [demo_agent("coder")], folders=names))
        await here.puppets.until_begun(1)
    for _ in range(2):
        async with bench(tmp_path, folders={"site": names["site"]}) as here:
            assert places(here) == [None, None]
            assert here.view.tasks[2].folder is None
