"""What a tracker costs a deck at work, how its faults are shown, and what they never hold up."""

from __future__ import annotations

import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import AnswerAsk, BlockTask, Reconcile, SetLimit, SetStatus
from batchdeck.core.deck import reconcile
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.trackers.forge import MOST_SINGLES
from tests.core.deck.test_reconcile import change
from tests.core.deck.test_tracked import add, happened, task, tracked
from tests.core.trackers.test_forge import MovedClock
from tests.core.trackers.test_hostile import issue, listed, silence
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import PATIENCE
from tests.support.tracker_server import Fault, TrackerServer, fault, tracker_server

pytestmark = pytest.mark.anyio


def many(server: TrackerServer) -> list[TaskSpec]:
    """Five hundred tasks on three hundred issues in two repositories."""
    for number in range(1, 151):
        server.put(number, repo="o/r")
        server.put(number, repo="o/s")
    names = [f"o/{repo}#{number}" for repo in "rs" for number in range(1, 151)]
    return [TaskSpec(f"T{n}", "a", issue=names[n % len(names)]) for n in range(500)]


async def test_five_hundred_tasks_on_three_hundred_issues_cost_one_list_a_repository_and_look(
    tmp_path: Path,
) -> None:
    with tracker_server() as server:
        tasks = many(server)
        async with tracked(tmp_path, server, admit=False) as here:
            await add(here, *tasks, agent_limit=2)
            here.deck.admit()
            await here.puppets.until_begun(1, 2)
            assert (len(server.lists), len(server.singles)) == (2, 0)
            server.forget()
            for _ in range(3):
                await here.deck.submit(Reconcile())
            assert [one.status for one in server.asked] == [304] * 6
            server.forget()
            server.close(7, repo="o/s")
            assert (await here.deck.submit(Reconcile())).message.endswith("2 changed")
            assert [one.status for one in server.asked] == [304, 200]


async def test_what_the_lists_do_not_reach_is_asked_for_thirty_at_a_time(tmp_path: Path) -> None:
    with tracker_server(per_page=1) as server:
        tasks = many(server)
        async with tracked(tmp_path, server) as here:
            await here.deck.submit(SetLimit(name="global", value=0))
            await add(here, *tasks)
            for _ in range(3):
                server.forget()
                await here.deck.submit(Reconcile())
                assert len(server.singles) == MOST_SINGLES
                assert len(server.lists) == 2


@pytest.mark.parametrize("status", [Status.BACKLOG, Status.READY, Status.BLOCKED])
async def test_a_closed_issue_makes_its_task_done_by_a_legal_move_wherever_it_stood(
    tmp_path: Path, status: Status
) -> None:
    with tracker_server() as server:
        server.put(1)
        async with tracked(tmp_path, server) as here:
            await here.deck.submit(SetLimit(name="global", value=0))
            await add(here, task(1))
            await here.deck.submit(SetStatus(task="T1", status=status))
            server.close(1)
            await here.deck.submit(Reconcile())
            assert here.view.tasks[1].status is Status.DONE
            assert here.view.turns[1].state is TurnState.SUPERSEDED
            assert here.view.batches["b"].state is BatchState.COMPLETED
            last = (await happened(here, "task.status"))[-1]
            assert last == {"before": status, "status": Status.DONE}


async def test_an_issue_that_was_transferred_is_followed_to_its_new_place(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.put(2)
        server.put(5, repo="o/new")
        server.moved["o/r", 1] = f"{server.address}/api/v3/repos/o/new/issues/5"
        clock = MovedClock()
        async with tracked(tmp_path, server, clock) as here:
            await add(here, task(1))
            await here.puppets.until_begun(1)
            await here.deck.submit(Reconcile())
            assert here.view.trackers[0].doubtful == ("o/r#1 was moved to o/new#5",)
            assert here.view.running == 1
            server.close(5, repo="o/new")
            clock.seconds += 120
            await here.deck.submit(Reconcile())
            await here.until(lambda view: view.turns[1].state is TurnState.SUPERSEDED)


async def test_a_tracker_that_fails_is_shown_and_goes_on_by_itself_once_it_answers_again(
    tmp_path: Path,
) -> None:
    clock = MovedClock()
    with tracker_server() as server:
        server.put(1)
        async with tracked(tmp_path, server, clock) as here:
            await add(here, task(1), interval=0.02)
            await here.puppets.until_begun(1)
            server.always = fault(503)
            view = await here.until(lambda view: view.trackers and not view.trackers[0].good)
            assert "fault (503)" in view.trackers[0].words
            assert view.trackers[0].again_ms is not None
            assert view.running == 1
            server.always = None
            server.close(1)
            clock.seconds += 60
            view = await here.until(lambda view: view.batches["b"].state is BatchState.COMPLETED)
            assert (view.trackers[0].good, view.trackers[0].again_ms) == (True, None)
            assert len(await happened(here, "reconcile.error")) == 1


async def test_a_look_ends_in_time_and_says_so_whatever_a_tracker_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tracker_server() as server:
        server.put(1)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1))
            await here.puppets.until_begun(1)
            monkeypatch.setattr(reconcile, "LOOK_SECONDS", 0.05)
            server.always = silence
            words = (await here.deck.submit(Reconcile())).message
            assert words == "looked at 1 task: none changed; the trackers did not answer in time"
            assert here.view.running == 1


async def test_once_its_batch_has_ended_nothing_is_asked_any_more(tmp_path: Path) -> None:
    with tracker_server() as server:
        server.put(1)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), interval=0.02)
            await here.puppets.until_begun(1)
            await here.end(1)
            await here.deck.submit(Reconcile())
            server.forget()
            other = batch_spec("other", [TaskSpec("T1", "a")], [demo_agent("a", 4)])
            await here.add(replace(other, reconciliation_interval_seconds=0.02))
            await here.puppets.until_begun(2)
            for status in ("DONE", "MERGED"):
                change(tmp_path, f"UPDATE tasks SET status = '{status}' WHERE batch = 'other'")
                await here.deck.audit()
            await here.until(lambda view: view.turns[2].state is TurnState.SUPERSEDED)
            assert server.asked == [], "its ticks went on, and asked nobody"


def held_back(until: threading.Event, answer: Fault) -> Fault:
    """An answer that comes late."""

    def late(handler: BaseHTTPRequestHandler) -> None:
        assert until.wait(PATIENCE)
        answer(handler)

    return late


async def test_an_operator_who_answers_while_a_look_is_under_way_waits_for_nothing_and_wins(
    tmp_path: Path,
) -> None:
    answered = threading.Event()
    with tracker_server() as server:
        server.put(1)
        server.put(2)
        async with tracked(tmp_path, server) as here:
            await add(here, task(1), task(2))
            await here.puppets.until_begun(1, 2)
            here.puppets.ask(1, "which way?")
            await here.until(lambda view: view.asks)
            server.faults = [held_back(answered, listed(issue()))]
            async with anyio.create_task_group() as looks:
                looks.start_soon(here.deck.submit, Reconcile())
                with anyio.fail_after(PATIENCE):
                    while server.faults:
                        await anyio.sleep(0.005)
                (ask,) = here.view.asks.values()
                assert (await here.deck.submit(AnswerAsk(ask=ask.id, answer="left"))).accepted
                await here.deck.submit(BlockTask(task="T2", question="and who?"))
                await here.deck.submit(SetStatus(task="T2", status=Status.READY))
                await here.puppets.until_begun(3)
                answered.set()
            assert here.puppets.assignments[3].prompt.endswith("left")
            assert here.view.turns[3].state is TurnState.RUNNING, "it was seen before the answer"
            await here.deck.submit(Reconcile())
            await here.until(lambda view: view.turns[3].state is TurnState.SUPERSEDED)
