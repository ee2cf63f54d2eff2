"""What events of its issue do to a task, with a real server, from the finding to the last event."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.clock import Clock, SystemClock
from batchdeck.core.commands import BlockTask, Reconcile, RetryTask, SetLimit, SetStatus
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.trackers.choosing import trackers
from tests.core.trackers.test_forge import MovedClock
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench
from tests.support.tracker_server import TrackerServer, fault, tracker_server

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def tracked(
    tmp_path: Path, server: TrackerServer, clock: Clock | None = None, **options: Any
) -> AsyncIterator[Bench]:
    config = {"kind": server.kind, "base_url": server.address, "token_env": "TOKEN"}
    following = trackers(config, {"TOKEN": server.token or ""}, clock or SystemClock())
    try:
        async with bench(tmp_path, tracker=following, **options) as here:
            yield here
    finally:
        await following.close()


async def add(here: Bench, *tasks: TaskSpec, interval: float = 0, agent_limit: int = 4) -> None:
    made = batch_spec("b", tasks, [demo_agent("a", agent_limit)])
    await here.add(replace(made, reconciliation_interval_seconds=interval))


def task(number: int, **fields: object) -> TaskSpec:
    return TaskSpec(f"T{number}", "a", issue=f"o/r#{number}", **fields)


async def happened(here: Bench, kind: str) -> list[dict[str, object]]:
    events = await here.deck.events(0, 1_000)
    return [dict(event.fields) for event in events if event.kind == kind]


@pytest.mark.parametrize(("kind", "reason"), [("github", " as completed"), ("gitea", "")])
async def test_an_issue_closed_while_its_task_runs_ends_the_turn_and_the_task_is_done(
    tmp_path: Path, kind: str, reason: str
) -> None:
    with tracker_server(kind) as server:
        server.put(1)
        async with tracked(tmp_path, server) as here:
            needing = TaskSpec("T2", "a", depends_on=("T1",))
            await add(here, task(1), needing, interval=0.05)
            await here.puppets.until_begun(1)
            server.close(1)
            await here.puppets.until_begun(2)
            view = await here.until(lambda view: view.turns[1].state is TurnState.SUPERSEDED)
            assert view.turns[1].error == f"o/r#1 was closed{reason}"
            assert view.tasks[1].status is Status.DONE
            (told,) = await happened(here, "reconcile.skipped")
            assert told["reason"] == f"o/r#1 was closed{reason}"
            await here.end(2)
            assert here.view.batches["b"].state is BatchState.COMPLETED


async def test_an_issue_that_is_closed_already_is_never_worked_on(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.close(1)
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2))
            await here.puppets.until_begun(2)
            view = await here.until(lambda view: view.turns[1].state is TurnState.SUPERSEDED)
            assert view.tasks[1].status is Status.DONE
            assert here.puppets.begun == [2]
            await here.end(2)
            assert here.view.batches["b"].state is BatchState.COMPLETED
            assert len(server.asked) == 1


async def test_one_that_is_closed_while_it_is_queued_is_never_started(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.put(1)
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2), agent_limit=1)
            await here.puppets.until_begun(1)
            server.close(2, None)
            assert (await here.deck.submit(Reconcile())).message.endswith("1 changed")
            assert here.view.turns[2].state is TurnState.SUPERSEDED
            assert here.view.tasks[2].status is Status.DONE
            await here.end(1)
            assert here.puppets.begun == [1]


@pytest.mark.parametrize("reason", ["not_planned", "duplicate"])
async def test_one_that_nobody_is_to_do_fails_with_what_needs_it(
    tmp_path: Path, reason: str
) -> None:
    with tracker_server() as server:
        server.put(1)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), TaskSpec("T2", "a", depends_on=("T1",)))
            await here.puppets.until_begun(1)
            server.close(1, reason)
            await here.deck.submit(Reconcile())
            view = await here.until(lambda view: not view.running)
            assert view.turns[1].state is TurnState.CANCELLED
            assert view.tasks[1].error == f"o/r#1 was closed as {reason.replace('_', ' ')}"
            assert (view.tasks[1].status, view.tasks[2].status) == (Status.FAILED, Status.FAILED)
            assert view.queued == 0
            assert view.batches["b"].state is BatchState.COMPLETED_WITH_ERRORS


async def test_an_agent_that_succeeds_all_the_same_does_not_bring_such_a_task_back(
    tmp_path: Path,
) -> None:
    with tracker_server() as server:
        server.put(1)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1))
            await here.puppets.until_begun(1)
            server.close(1, "not_planned")
            here.puppets.when_stopped(1, TurnState.SUCCEEDED)
            await here.deck.submit(Reconcile())
            view = await here.until(lambda view: not view.running)
            assert view.turns[1].state is TurnState.SUCCEEDED
            assert view.tasks[1].status is Status.FAILED


async def test_a_merged_pull_request_makes_its_task_merged(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.put(1, pull={"merged_at": None})
        async with tracked(tmp_path, server) as here:
            await add(here, task(1))
            await here.puppets.until_begun(1)
            server.put(1, "closed", pull={"merged_at": "2024-01-01T00:00:00Z"})
            await here.deck.submit(Reconcile())
            view = await here.until(lambda view: not view.running)
            assert view.tasks[1].status is Status.MERGED
            assert view.batches["b"].state is BatchState.COMPLETED


async def test_a_pull_request_that_was_only_closed_changes_nothing_and_is_shown(
    tmp_path: Path,
) -> None:
    with tracker_server() as server:
        server.put(1, "closed", pull={"merged_at": None})
        async with tracked(tmp_path, server) as here:
            await add(here, task(1))
            await here.puppets.until_begun(1)
            await here.deck.submit(Reconcile())
            assert here.view.running == 1
            assert "closed without being merged" in here.view.trackers[0].doubtful[0]


async def test_a_deleted_issue_fails_its_task(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.put(2)
        server.gone["o/r", 1] = (410, "This issue was deleted")
        async with tracked(tmp_path, server) as here:
            await add(here, task(1))
            view = await here.until(lambda view: view.tasks[1].status is Status.FAILED)
            assert view.tasks[1].error == "o/r#1 was deleted"
            assert here.puppets.begun == []


async def test_an_issue_that_is_opened_again_makes_the_task_ready_if_the_deck_had_closed_it(
    tmp_path: Path,
) -> None:
    with tracker_server() as server:
        server.put(1)
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2))
            await here.puppets.until_begun(1, 2)
            server.close(1)
            await here.deck.submit(Reconcile())
            await here.until(lambda view: view.turns[1].state is TurnState.SUPERSEDED)
            server.put(1)
            await here.deck.submit(Reconcile())
            await here.puppets.until_begun(3)
            assert here.view.tasks[1].status is Status.IN_PROGRESS
            assert here.view.elsewhere == {}
            (told,) = await happened(here, "reconcile.requeued")
            assert told["reason"] == "o/r#1 was opened again"
            server.close(1)
            await here.deck.submit(Reconcile())
            await here.until(lambda view: view.turns[3].state is TurnState.SUPERSEDED)


async def test_a_person_who_reopens_a_task_is_not_overruled_by_the_same_event(
    tmp_path: Path,
) -> None:
    with tracker_server() as server:
        server.close(1)
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2))
            await here.until(lambda view: view.tasks[1].status is Status.DONE)
            await here.deck.submit(SetStatus(task="T1", status=Status.READY))
            await here.puppets.until_begun(3)
            await here.deck.submit(Reconcile())
            assert here.view.turns[3].state is TurnState.RUNNING
            server.put(1)
            await here.deck.submit(Reconcile())
            assert here.view.turns[3].state is TurnState.RUNNING
            server.close(1)
            await here.deck.submit(Reconcile())
            view = await here.until(lambda view: view.turns[3].state is TurnState.SUPERSEDED)
            assert view.tasks[1].status is Status.DONE, "a new event is a new word"


async def test_what_a_person_moved_since_is_not_made_ready_by_its_issue(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.close(1, "not_planned")
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2))
            await here.until(lambda view: view.tasks[1].status is Status.FAILED)
            await here.deck.submit(SetStatus(task="T1", status=Status.DONE))
            server.put(1)
            await here.deck.submit(Reconcile())
            assert here.view.tasks[1].status is Status.DONE


async def test_a_retry_is_not_stopped_by_the_event_that_failed_the_task(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.close(1, "duplicate")
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2))
            await here.until(lambda view: view.turns[1].ended_ms is not None)
            assert here.view.tasks[1].status is Status.FAILED
            receipt = await here.deck.submit(RetryTask(task="T1"))
            await here.puppets.until_begun(receipt.turn)
            await here.deck.submit(Reconcile())
            await here.end(receipt.turn)
            assert here.view.tasks[1].status is Status.DONE


async def test_what_an_event_led_to_is_known_after_a_restart(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.close(1)
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2), agent_limit=1)
            await here.until(lambda view: view.tasks[1].status is Status.DONE)
            await here.deck.submit(SetLimit(name="global", value=0))
            await here.deck.submit(SetStatus(task="T1", status=Status.READY))
        async with tracked(tmp_path, server) as here:
            await here.deck.submit(Reconcile())
            assert here.view.tasks[1].status is Status.READY
            server.put(1)
            server.close(1)
            await here.deck.submit(Reconcile())
            assert here.view.tasks[1].status is Status.DONE


async def test_somebody_may_close_the_issue_instead_of_answering(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.put(1)
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2))
            await here.puppets.until_begun(1, 2)
            here.puppets.ask(1, "which way?")
            await here.until(lambda view: view.asks)
            await here.deck.submit(BlockTask(task="T1", question="and who?"))
            server.close(1)
            await here.deck.submit(Reconcile())
            view = here.view
            assert (view.tasks[1].status, view.turns[1].state) == (
                Status.DONE,
                TurnState.SUPERSEDED,
            )
            assert not view.asks
            assert not view.blockers


async def test_local_signals_and_tasks_without_an_issue_spare_the_network(tmp_path: Path) -> None:
    with tracker_server() as server:
        async with tracked(tmp_path, server) as here:
            await here.deck.submit(SetLimit(name="global", value=0))
            await add(here, TaskSpec("T0", "a"), task(1))
            await here.deck.submit(SetStatus(task="T1", status=Status.DONE))
            await here.deck.submit(Reconcile())
            await here.deck.submit(SetLimit(name="global", value=4))
            await here.puppets.until_begun(1)
            assert server.asked == []


async def test_a_tracker_that_fails_for_long_stops_nothing_and_is_told_once(
    tmp_path: Path,
) -> None:
    clock = MovedClock()
    with tracker_server(always=fault(503)) as server:
        async with tracked(tmp_path, server, clock) as here:
            await add(here, task(1))
            await here.puppets.until_begun(1)
            for _ in range(20):
                await here.deck.submit(Reconcile())
                clock.seconds += 30  # ten minutes in all
            assert here.view.running == 1
            assert not here.view.trackers[0].good
            assert len(await happened(here, "reconcile.error")) == 1
            assert len(server.asked) < 10


async def test_the_token_is_in_none_of_the_decks_files(tmp_path: Path) -> None:
    with tracker_server(token="a-very-secret-token") as server:
        server.put(1)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1))
            await here.puppets.until_begun(1)
            server.always = fault(401, "Bad credentials")
            await here.deck.submit(Reconcile())
            assert "TOKEN" in here.view.trackers[0].words
        for path in (tmp_path / ".batchdeck").rglob("*"):
            assert not path.is_file() or b"a-very-secret-token" not in path.read_bytes()
