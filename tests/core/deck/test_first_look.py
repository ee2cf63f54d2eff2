"""The trackers are asked before anything is admitted, whichever way a deck begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import ResumeBatch, RetryTask, SetLimit
from batchdeck.core.deck import opening, reconcile
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.core.deck.test_reconcile import change
from tests.core.deck.test_tracked import add, happened, task, tracked
from tests.core.trackers.test_forge import MovedClock
from tests.core.trackers.test_hostile import silence
from tests.support.puppets import PATIENCE, Bench
from tests.support.tracker_server import tracker_server

pytestmark = pytest.mark.anyio


async def claimed(here: Bench) -> list[str | None]:
    events = await here.deck.events(0, 1_000)
    return [event.task for event in events if event.kind == "turn.claimed"]


async def test_whichever_way_a_deck_begins_its_issues_are_asked_for_before_anything_is_admitted(
    tmp_path: Path,
) -> None:
    with tracker_server() as server:
        server.put(1)
        server.put(2)
        async with tracked(tmp_path, server, admit=False) as here:  # a batch that is run
            await add(here, task(1), task(2), agent_limit=1)
            server.close(1)
            here.deck.admit()
            await here.end(2, TurnState.FAILED)
            assert here.view.tasks[1].status is Status.DONE
        server.forget()
        async with tracked(tmp_path, server, admit=False) as here:  # one that is tried again
            await here.deck.submit(RetryTask(task="T2"))
            await here.deck.submit(ResumeBatch())
            server.close(2)
            here.deck.admit()
            await here.until(lambda view: view.batches["b"].state is BatchState.COMPLETED)
            assert here.puppets.begun == []
            assert await claimed(here) == ["b/T2"]
            assert len(server.lists) == 1


async def test_after_a_crash_too_issues_are_asked_for_before_anything_is_admitted(
    tmp_path: Path,
) -> None:
    with tracker_server() as server:
        for number in (1, 2, 3):
            server.put(number)
        async with tracked(tmp_path, server) as here:
            await here.deck.submit(SetLimit(name="global", value=0))
            await add(here, task(1), task(2), task(3), interval=3_600, agent_limit=1)
            await here.deck.submit(SetLimit(name="global", value=4))
            await here.puppets.until_begun(1)
            before = len(await happened(here, "reconcile.started"))
        change(tmp_path, "UPDATE facts SET value = '0' WHERE key = 'stopped_in_order'")
        server.close(1)
        server.close(2)
        async with tracked(tmp_path, server) as here:
            await here.puppets.until_begun(3)
            assert here.puppets.begun == [3]
            assert len(await happened(here, "reconcile.started")) == before + 1, (
                "one look was enough"
            )
            assert await claimed(here) == ["b/T1", "b/T3"]


async def test_a_tracker_that_never_answers_holds_the_first_start_up_for_so_long_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "FIRST_SECONDS", 0.2)
    monkeypatch.setattr(reconcile, "LAUNCH_SECONDS", 0.05)
    monkeypatch.setattr(opening, "SLOW_SECONDS", 0)
    with tracker_server(always=silence) as server:
        async with tracked(tmp_path, server, admit=False) as here:
            await add(here, task(1))
            here.deck.admit()
            await here.until(lambda view: view.banner == opening.ASKING)
            await here.puppets.until_begun(1)
            await here.until(lambda view: view.banner is None)


async def test_a_remark_shows_nothing_that_is_not_on_disk_yet(tmp_path: Path) -> None:
    with tracker_server(token=None) as server:
        async with tracked(tmp_path, server) as here:
            await add(here, task(1))
            memory = here.deck.memory
            memory.writing = True  # as in the middle of a round
            memory.state.put_task(replace(memory.state.tasks[1], title="not written"))
            here.deck.show_remark("mind the gap")
            assert (here.view.banner, here.view.tasks[1].title) == ("mind the gap", "T1")
            memory.writing = False


async def test_a_deck_that_is_left_while_its_trackers_are_asked_starts_nothing(
    tmp_path: Path,
) -> None:
    with tracker_server(always=silence) as server:
        async with tracked(tmp_path, server, admit=False) as here:
            await add(here, task(1))
            here.deck.admit()
            with anyio.fail_after(PATIENCE):
                while not server.asked:
                    await anyio.sleep(0.005)
            assert here.view.running == 0
        assert here.puppets.begun == []


async def test_once_more_just_before_a_launch_where_nobody_has_looked_for_a_minute(
    tmp_path: Path,
) -> None:
    clock = MovedClock()
    with tracker_server() as server:
        for number in (1, 2, 3):
            server.put(number)
        async with tracked(tmp_path, server, clock, admit=False) as here:
            await add(here, task(1), task(2), task(3), agent_limit=1)
            here.deck.admit()
            await here.puppets.until_begun(1)
            server.close(2)
            clock.seconds += 61
            await here.end(1)
            await here.puppets.until_begun(3)
            assert here.puppets.begun == [1, 3]
            assert here.view.tasks[2].status is Status.DONE
            asked = len(server.asked)
            await here.end(3)
            assert asked == len(server.asked) == 2, "what was just confirmed is not asked again"
