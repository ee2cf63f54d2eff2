"""The auditor sees what is broken while the deck works, says so, and mends what can be mended."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.deck.audit import violations
from batchdeck.core.deck.restoring import scheduler_for
from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import Turn, TurnState
from tests.support.builders import NOW, StateBuilder, batch_spec, demo_agent, folder
from tests.support.puppets import Bench, bench


def found(state: DeckState, **given: Any) -> list[str]:
    scheduler = given.pop("scheduler", None) or scheduler_for(state, NOW)
    live = frozenset(state.live)
    told = {"on_disk": live, "in_hand": live, **given}
    return [violation.kind for violation in violations(state, scheduler, **told)]


def two_running() -> tuple[StateBuilder, Turn, Turn]:
    built = StateBuilder()
    built.agent("a", 4)
    return built, built.running("a"), built.running("a")


def test_a_sound_deck_has_nothing_to_say() -> None:
    built, _, _ = two_running()
    built.turn("a")
    assert found(built.state) == []


def test_counts_that_are_not_those_of_the_rows_are_seen() -> None:
    built, _, _ = two_running()
    built.state.running_by["agent:a"] = 3
    assert found(built.state) == ["counts"]


def test_a_slot_that_nobody_holds_is_seen() -> None:
    built, first, _ = two_running()
    scheduler = scheduler_for(built.state, NOW)
    scheduler.take(evolve(first, id=99))
    assert set(found(built.state, scheduler=scheduler)) == {"slots"}


def test_what_is_closed_or_open_and_should_not_be_is_seen() -> None:
    built, _, _ = two_running()
    scheduler = scheduler_for(built.state, NOW)
    scheduler.close(frozenset({"agent:a"}))
    assert found(built.state, scheduler=scheduler) == ["slots"]
    built.state.holds["agent:a"] = Hold("agent:a", "op")
    assert found(built.state, scheduler=scheduler) == []
    built.state.draining = True
    assert found(built.state, scheduler=scheduler) == ["slots"]


def test_a_turn_that_would_be_started_as_it_was_before_is_seen() -> None:
    built = StateBuilder()
    built.agent("a")
    turn = built.turn("a")
    scheduler = scheduler_for(built.state, NOW)
    built.change(turn, title="better")
    assert found(built.state, scheduler=scheduler) == ["queue"]


def test_a_turn_that_the_file_does_not_know_as_running_is_seen() -> None:
    built, first, second = two_running()
    assert found(built.state, on_disk={first.id}) == ["disk"]
    assert found(built.state, on_disk={first.id, second.id, 77}) == ["disk"]


def test_two_turns_of_one_conversation_at_once_are_seen() -> None:
    built, first, second = two_running()
    built.change(second, conversation=first.conversation)
    assert "order" in found(built.state)


def test_two_turns_in_overlapping_folders_are_seen() -> None:
    built, first, second = two_running()
    built.change(first, folder=folder("/w"))
    built.change(second, folder=folder("/w/deep"))
    assert found(built.state) == ["folder"]


def test_a_running_turn_that_nobody_waits_for_is_seen() -> None:
    built, first, _ = two_running()
    assert found(built.state, in_hand={first.id}) == ["stranded turn"]


def test_a_task_without_a_turn_is_seen() -> None:
    built = StateBuilder()
    built.agent("a")
    built.batch("b")
    built.task("b", "a")
    assert found(built.state) == ["stranded task"]


async def kinds_of_violations(here: Bench) -> list[tuple[str, str | None]]:
    events = await here.deck.events(0, 10_000)
    return [
        (str(event.fields["what"]), event.fields["mended"])
        for event in events
        if event.kind == "audit.violation"
    ]


async def until_mended(here: Bench) -> None:
    await here.until(lambda view: view.violations)
    await here.until(lambda view: not view.violations)


@pytest.mark.anyio
async def test_while_it_works_a_lost_slot_is_given_back(tmp_path: Path) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.add(
            batch_spec("b", [TaskSpec("T1", "a"), TaskSpec("T2", "a")], [demo_agent("a")])
        )
        await here.puppets.until_begun(1)
        here.deck.memory.scheduler.slot("agent:a").running += 1
        await until_mended(here)
        assert ("slots", "read again from disk") in await kinds_of_violations(here)
        await here.end(1)
        await here.puppets.until_begun(2)


@pytest.mark.anyio
async def test_while_it_works_a_stranded_turn_is_worked_on_again(tmp_path: Path) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a")]))
        await here.puppets.until_begun(1)
        first = here.view.turns[1].attempt
        here.deck.dispatcher._controls.clear()
        await here.until(lambda view: view.violations)
        assert "nobody waits" in here.view.violations[0]
        await here.until(lambda view: view.turns[1].attempt not in (None, first))
        assert ("stranded turn", "queued again") in await kinds_of_violations(here)


@pytest.mark.anyio
async def test_while_it_works_a_task_without_a_turn_gets_one(tmp_path: Path) -> None:
    async with bench(tmp_path, sweep_seconds=0.05) as here:
        spec = batch_spec("b", [TaskSpec("T1", "a"), TaskSpec("T2", "a")], [demo_agent("a")])
        await here.add(spec)
        await here.puppets.until_begun(1)
        raw = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
        raw.execute("PRAGMA foreign_keys = OFF")
        raw.execute("DELETE FROM turns WHERE id = 2")
        raw.close()
        await until_mended(here)
        await here.end(1)
        again = here.view.tasks[2].turn or 0
        await here.end(again)
        assert here.view.turns[again].state is TurnState.SUCCEEDED
