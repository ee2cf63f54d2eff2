"""The ticker on rows that others changed: found, followed once, told, and never in the way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import BlockTask, Reconcile, RetryTask, SetLimit, SetStatus
from batchdeck.core.deck import following
from batchdeck.core.deck import reconcile as reconciling
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


def spec(tasks: int = 1, interval: float = 0.05, agent_limit: int = 1) -> BatchSpec:
    from dataclasses import replace

    made = batch_spec(
        "b", [TaskSpec(f"T{n}", "a") for n in range(1, tasks + 1)], [demo_agent("a", agent_limit)]
    )
    return replace(made, reconciliation_interval_seconds=interval)


def change(tmp_path: Path, *statements: str) -> None:
    """Another program writes to the deck's file."""
    raw = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
    for statement in statements:
        raw.execute(statement)
    raw.close()


async def kinds(here: Bench) -> list[str]:
    return [event.kind for event in await here.deck.events(0, 1000)]


async def test_a_task_that_another_program_completed_is_stopped_and_counts_done(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        change(tmp_path, "UPDATE tasks SET status = 'MERGED'")
        await here.puppets.until_stopped(1)
        view = await here.until(lambda view: view.batches["b"].state is BatchState.COMPLETED)
        assert view.turns[1].state is TurnState.SUPERSEDED
        assert view.tasks[1].status is Status.MERGED
        assert list(view.elsewhere) == [1]
        assert (await kinds(here)).count("reconcile.skipped") == 1


async def test_one_that_is_still_queued_is_never_started(tmp_path: Path) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.add(spec(tasks=2))
        await here.puppets.until_begun(1)
        change(tmp_path, "UPDATE tasks SET status = 'DONE' WHERE key = 'T2'")
        await here.until(lambda view: view.turns[2].state is TurnState.SUPERSEDED)
        await here.end(1)
        await here.until(lambda view: view.batches["b"].state is BatchState.COMPLETED)
        assert here.puppets.begun == [1]


async def test_what_was_completed_elsewhere_wins_over_the_agents_own_end(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(interval=0))
        await here.puppets.until_begun(1)
        await here.deck.submit(SetStatus(task="T1", status=Status.DONE))
        await here.until(lambda view: not view.running)
        view = here.view
        assert (view.turns[1].state, view.tasks[1].status) == (TurnState.SUPERSEDED, Status.DONE)
        finished = [e for e in await here.deck.events(0, 99) if e.kind == "batch.finished"]
        assert [event.fields["state"] for event in finished] == [BatchState.COMPLETED]


@pytest.mark.parametrize("end", [TurnState.SUCCEEDED, TurnState.FAILED, TurnState.INCOMPLETE])
async def test_what_another_program_completed_wins_over_an_end_that_comes_before_any_look(
    tmp_path: Path, end: TurnState
) -> None:
    async with bench(tmp_path, sweep_seconds=3600) as here:
        await here.add(spec(tasks=2, interval=0))
        await here.puppets.until_begun(1)
        change(tmp_path, "UPDATE tasks SET status = 'MERGED' WHERE key = 'T1'")
        await here.end(1, end)
        await here.end(2)
        view = await here.until(lambda view: view.batches["b"].state is not BatchState.RUNNING)
        assert view.tasks[1].status is Status.MERGED
        ended = end if end is TurnState.SUCCEEDED else TurnState.SUPERSEDED
        assert view.turns[1].state is ended
        finished = [e for e in await here.deck.events(0, 99) if e.kind == "batch.finished"]
        assert [event.fields["state"] for event in finished] == [BatchState.COMPLETED]
        assert view.fault is None


async def test_blockers_that_another_program_resolved_let_the_task_go_on_once(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec())
        await here.deck.submit(BlockTask(task="T1", question="which port?"))
        await here.deck.submit(SetLimit(name="global", value=4))
        change(tmp_path, "UPDATE blockers SET state = 'resolved'")
        await here.puppets.until_begun(1)
        await here.deck.submit(Reconcile())
        assert (await kinds(here)).count("reconcile.requeued") == 1


async def test_an_agents_question_that_another_program_answered_goes_on_with_that_answer(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        here.puppets.ask(1, "which way?")
        await here.until(lambda view: view.blockers)
        change(tmp_path, "UPDATE blockers SET state = 'answered', answer = 'left'")
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].prompt.endswith("left")
        assert not here.view.asks


async def test_the_first_look_comes_before_the_first_start_on_every_path(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec(tasks=2, interval=0, agent_limit=2))
        await here.deck.submit(BlockTask(task="T2", question="may it?"))
    change(
        tmp_path,
        "UPDATE tasks SET status = 'DONE' WHERE key = 'T1'",
        "UPDATE blockers SET state = 'answered', answer = 'yes'",
        "UPDATE limits SET value = 4, binding = 4 WHERE name = 'global'",
    )
    async with bench(tmp_path) as here:
        await here.puppets.until_begun(2)
        assert here.view.turns[1].state is TurnState.SUPERSEDED
        assert here.puppets.begun == [2]
        assert "reconcile.started" in await kinds(here)


async def test_an_interval_of_nothing_turns_the_timer_off_and_not_the_look_on_demand(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.add(spec(interval=0))
        await here.puppets.until_begun(1)
        change(tmp_path, "UPDATE tasks SET status = 'DONE'")
        await here.until(lambda view: view.tasks[1].status is Status.DONE)
        assert here.view.running == 1, "the row is seen, and nobody has looked"
        assert "reconcile.started" not in await kinds(here)
        receipt = await here.deck.submit(Reconcile())
        assert receipt.message == "looked at 1 task: 1 changed"
        await here.until(lambda view: view.turns[1].state is TurnState.SUPERSEDED)


async def test_a_shorter_interval_of_a_batch_that_comes_later_is_kept(tmp_path: Path) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        from dataclasses import replace

        await here.add(replace(spec(interval=3600), name="long"))
        await here.deck.submit(Reconcile())
        await here.add(spec())
        await here.deck.submit(SetLimit(name="agent:a", value=2))
        await here.puppets.until_begun(2)
        change(tmp_path, "UPDATE tasks SET status = 'DONE' WHERE batch = 'b'")
        await here.puppets.until_stopped(2)


async def test_looks_never_overlap_however_many_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = most = looks = 0
    look = reconciling.Reconciler._look

    async def counted(self, requests):
        nonlocal at_once, most, looks
        at_once, looks = at_once + 1, looks + 1
        most = max(most, at_once)
        await anyio.lowlevel.checkpoint()
        try:
            return await look(self, requests)
        finally:
            at_once -= 1

    monkeypatch.setattr(reconciling.Reconciler, "_look", counted)
    async with bench(tmp_path) as here:
        await here.add(spec(interval=0.001))
        for _ in range(2):
            async with anyio.create_task_group() as askers:
                for _ in range(20):
                    askers.start_soon(here.deck.submit, Reconcile())
        assert looks >= 2
        assert most == 1


async def test_one_check_that_fails_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = reconciling.local_findings

    def faulty(view, tasks):
        tasks = list(tasks)
        if any(task.key == "T1" for task in tasks):
            raise ValueError("a task nobody understands")
        return local(view, tasks)

    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.add(spec(tasks=2, agent_limit=2))
        await here.puppets.until_begun(1, 2)
        monkeypatch.setattr(reconciling, "local_findings", faulty)
        change(tmp_path, "UPDATE tasks SET status = 'DONE' WHERE key = 'T2'")
        await here.puppets.until_stopped(2)
        await here.deck.submit(Reconcile())
        errors = [e for e in await here.deck.events(0, 999) if e.kind == "reconcile.error"]
        assert len(errors) == 1, "the same failure is told once"
        assert "b/T1 could not be checked" in errors[0].fields["error"]
        assert here.view.turns[1].state is TurnState.RUNNING


async def test_a_finding_that_cannot_be_followed_is_told_once_and_the_others_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = following._apply

    def faulty(work, finding, task):
        done = apply(work, finding, task)
        if task.key == "T2":
            raise ValueError("half of it is done")
        return done

    monkeypatch.setattr(following, "_apply", faulty)
    async with bench(tmp_path) as here:
        await here.add(spec(tasks=3, interval=0, agent_limit=4))
        await here.puppets.until_begun(1, 2, 3)
        change(tmp_path, "UPDATE tasks SET status = 'DONE'")
        await here.deck.audit()
        await here.until(lambda view: view.tasks[3].status is Status.DONE)
        for _ in range(2):
            await here.deck.submit(Reconcile())
            await here.until(lambda view: view.running == 1)
        states = [here.view.turns[turn].state for turn in (1, 2, 3)]
        assert states == [TurnState.SUPERSEDED, TurnState.RUNNING, TurnState.SUPERSEDED]
        (told,) = [e for e in await here.deck.events(0, 999) if e.kind == "reconcile.error"]
        assert "b/T2" in told.fields["error"]
        assert here.view.fault is None


async def test_a_look_that_fails_as_a_whole_is_told_and_the_next_one_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = reconciling.Reconciler._look
    fails = [True]

    async def failing(self, requests):
        if fails.pop() if fails else False:
            raise OSError("no more files")
        return await look(self, requests)

    monkeypatch.setattr(reconciling.Reconciler, "_look", failing)
    async with bench(tmp_path) as here:
        await here.add(spec(interval=0))
        assert "failed (OSError)" in (await here.deck.submit(Reconcile())).message
        assert (await here.deck.submit(Reconcile())).message == "looked at 1 task: none changed"
        assert "reconcile.error" in await kinds(here)


async def test_a_finding_about_a_task_that_was_moved_meanwhile_changes_nothing(
    tmp_path: Path,
) -> None:
    from batchdeck.core.deck.letters import Found
    from batchdeck.core.rules.reconciling import Finding, FindingKind

    async with bench(tmp_path) as here:
        await here.add(spec(tasks=2, interval=0))
        await here.puppets.until_begun(1)
        ready = here.view.tasks[2]
        await here.deck.submit(SetStatus(task="T2", status=Status.BACKLOG))
        stale = Finding(
            FindingKind.ISSUE, ready.id, ready.status, ready.turn, Status.DONE, "closed 1", "x#1"
        )
        letter = Found((stale,))
        here.deck.post(letter)
        await letter.done.wait()
        assert letter.applied == []
        assert here.view.tasks[2].status is Status.BACKLOG
        assert "reconcile.skipped" not in await kinds(here)


async def test_a_task_that_is_wanted_again_while_its_turn_is_still_stopping_is_not_held(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(interval=0))
        await here.puppets.until_begun(1)
        async with anyio.create_task_group() as both:
            both.start_soon(here.deck.submit, SetStatus(task="T1", status=Status.DONE))
            both.start_soon(here.deck.submit, SetStatus(task="T1", status=Status.READY))
        await here.puppets.until_begun(2)
        assert here.view.turns[2].position == 1


async def test_finished_tasks_are_not_looked_at(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tasks=2, interval=0))
        await here.end(1, TurnState.FAILED)
        await here.puppets.until_begun(2)
        assert (await here.deck.submit(Reconcile())).message == "looked at 1 task: none changed"
        await here.end(2)
        assert (await here.deck.submit(Reconcile())).message == "looked at 0 tasks: none changed"


async def test_a_retry_voids_the_earlier_result_and_a_new_completion_elsewhere_still_wins(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(interval=0))
        await here.end(1, TurnState.FAILED)
        await here.deck.submit(RetryTask(task="T1"))
        await here.puppets.until_begun(2)
        assert here.view.tasks[1].status is Status.IN_PROGRESS
        await here.deck.submit(SetStatus(task="T1", status=Status.DONE))
        await here.until(lambda view: not view.running)
        assert here.view.tasks[1].status is Status.DONE
        assert here.view.batches["b"].state is BatchState.COMPLETED


async def test_the_ticker_ends_with_its_deck_in_the_middle_of_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = anyio.Event()

    async def endless(self, requests):
        begun.set()
        await anyio.sleep_forever()

    monkeypatch.setattr(reconciling.Reconciler, "_look", endless)
    answers = []

    async def ask(here: Bench) -> None:
        answers.append((await here.deck.submit(Reconcile())).message)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as askers, bench(tmp_path) as here:
            await here.add(spec(interval=0))
            askers.start_soon(ask, here)
            await begun.wait()
    assert answers == ["The deck is closing."]
