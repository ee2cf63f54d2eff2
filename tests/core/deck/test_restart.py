"""A deck that is closed or dies is taken up again by evidence, with nothing lost or doubled."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import OnBusy, PutHold, Send, SetLimit
from batchdeck.core.deck.lock import holder
from batchdeck.core.deck.reconcile import Reconciler
from batchdeck.core.errors import DeckHeld, Refused
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.hold import OURSELVES, UNSAVED, for_editing
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, Puppets, bench

pytestmark = pytest.mark.anyio


def spec(kind: AgentKind = AgentKind.DEMO, count: int = 3):
    agent = replace(demo_agent("a", 1), kind=kind)
    return batch_spec("b", [TaskSpec(f"T{n}", "a") for n in range(1, count + 1)], [agent])


async def test_what_was_queued_is_still_queued_in_its_order(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec())
        before = dict(here.view.turns)
        await here.deck.submit(Send(to="a", text="x", on_busy=OnBusy.QUEUE))
    async with bench(tmp_path) as here:
        assert here.view.queued == 4
        assert all(here.view.turns[turn] == row for turn, row in before.items())
        await here.deck.submit(SetLimit(name="global", value=1))
        assert here.view.live == (4,), "the message has priority"


async def test_an_agent_that_could_not_go_on_is_queued_again_at_its_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.puppets.until_begun(1)
        first = here.view.turns[1].attempt
    async with bench(tmp_path) as here:
        await here.puppets.until_begun(1)
        assert here.view.turns[1].attempt != first
        assert here.view.live == (1,)


async def test_an_agent_that_lives_on_is_taken_over_and_not_started_again(tmp_path: Path) -> None:
    puppets = Puppets(outlives=True)
    async with bench(tmp_path, puppets) as here:
        await here.add(spec(AgentKind.COMMAND))
        await here.puppets.until_begun(1)
        attempt = here.view.turns[1].attempt
    async with bench(tmp_path, Puppets(outlives=True)) as here:
        await here.puppets.until_begun(1)
        assert here.view.turns[1].attempt == attempt
        await here.end(1)
        assert here.view.tasks[1].status is Status.DONE
        assert here.view.live == (2,)


async def test_an_attempt_that_never_began_is_fenced_and_its_task_ready(tmp_path: Path) -> None:
    first = Puppets(outlives=True)
    async with bench(tmp_path, first) as here:
        await here.add(spec(AgentKind.COMMAND))
        await here.puppets.until_begun(1)
        run = here.puppets.assignments[1].run
    second = Puppets(outlives=True)
    second.fenced.add(run)
    async with bench(tmp_path, second) as here:
        ends = [e for e in await here.deck.events(0, 1000) if e.kind == "attempt.ended"]
        assert ends[0].fields["end"] == "fenced"
        await here.until(lambda view: view.live == (1,))
        assert here.view.turns[1].lane is Status.READY


async def test_recovery_comes_before_any_admission(tmp_path: Path) -> None:
    async with bench(tmp_path, Puppets(outlives=True)) as here:
        await here.add(spec(AgentKind.COMMAND))
        await here.puppets.until_begun(1)
    async with bench(tmp_path, Puppets(outlives=True)) as here:
        assert here.view.live == (1,)
        assert here.view.queued == 2


async def test_after_an_unclean_stop_a_script_is_told_and_nothing_starts(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
    _mark_unclean(tmp_path)
    with pytest.raises(Refused, match="--auto-resume"):
        async with bench(tmp_path, refuse_after_unclean_stop=True):
            pass


async def test_after_an_unclean_stop_the_dashboard_comes_up_held(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
    _mark_unclean(tmp_path)
    async with bench(tmp_path, hold_after_unclean_stop=True) as here:
        view = await here.until(lambda view: view.mode == "held")
        assert "did not stop in order" in (view.banner or "")
        assert view.running == 0


async def test_after_an_unclean_stop_what_works_on_and_what_had_ended_are_counted_apart(
    tmp_path: Path,
) -> None:
    agent = replace(demo_agent("a", 3), kind=AgentKind.COMMAND)
    tasks = [TaskSpec(name, "a") for name in ("T1", "T2", "T3")]
    first, second = Puppets(outlives=True), Puppets(outlives=True)
    async with bench(tmp_path, first) as here:
        await here.add(batch_spec("b", tasks, [agent]))
        await here.puppets.until_begun(1, 2, 3)
        second.alive |= {first.assignments[turn].run for turn in (1, 3)}
    _mark_unclean(tmp_path)
    async with bench(tmp_path, second, hold_after_unclean_stop=True) as here:
        view = await here.until(lambda view: view.mode == "held")
        assert "Of 3 running turns: 2 work on, 1 had ended." in (view.banner or "")


async def test_a_second_supervisor_is_told_who_holds_the_deck(tmp_path: Path) -> None:
    async with bench(tmp_path):
        with pytest.raises(DeckHeld, match=str(os.getpid())):
            async with bench(tmp_path):
                pass
    assert holder(DeckPaths(tmp_path / ".batchdeck").lock) is None


async def test_the_decks_files_are_for_their_owner_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with bench(tmp_path) as here:
            await here.add(spec())
            modes = {
                path.name: stat.S_IMODE(path.lstat().st_mode)
                for path in (tmp_path / ".batchdeck").iterdir()
            }
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / ".batchdeck").stat().st_mode) == 0o700
    for name in ("deck.db", "deck.db-wal", "deck.db-shm", "lock"):
        assert modes[name] == 0o600, name
    assert modes["runs"] == 0o700


async def test_limits_set_by_a_person_survive_a_restart(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec())
        await here.deck.submit(SetLimit(name="agent:a", value=2, by="op"))
    async with bench(tmp_path) as here:
        assert here.view.limits["agent:a"].value == 2
        assert here.view.limits["agent:a"].changed_by == "op"
        await here.until(lambda view: view.running == 2)


async def test_a_stopping_turn_is_stopped_again(tmp_path: Path) -> None:
    async with bench(tmp_path, Puppets(outlives=True)) as here:
        await here.add(spec(AgentKind.COMMAND, 1))
        await here.puppets.until_begun(1)
    _set_state(tmp_path, 2)
    async with bench(tmp_path, Puppets(outlives=True)) as here:
        await here.until(lambda view: view.turns[1].state is TurnState.CANCELLED)


def _mark_unclean(tmp_path: Path) -> None:
    _run(tmp_path, "UPDATE facts SET value = '0' WHERE key = 'stopped_in_order'")


def _set_state(tmp_path: Path, state: int) -> None:
    _run(tmp_path, f"UPDATE turns SET state = {state} WHERE id = 1")


def _run(tmp_path: Path, sql: str) -> None:
    import sqlite3

    raw = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db", isolation_level=None)
    raw.execute(sql)
    raw.close()


async def test_a_turn_claimed_while_the_deck_is_left_is_taken_up_by_the_next_one(
    tmp_path: Path,
) -> None:
    """The claim is on disk, its agent was never begun: neither an error nor a loss."""
    async with bench(tmp_path, Puppets(outlives=True)) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec(AgentKind.COMMAND, 1))
        here.deck.dispatcher.abandon()
        await here.deck.submit(SetLimit(name="global", value=1))
        assert here.view.live == (1,)
        assert here.puppets.begun == []
        attempt = here.view.turns[1].attempt
    puppets = Puppets(outlives=True)
    puppets.fenced.add(tmp_path / ".batchdeck" / "runs" / str(attempt))
    async with bench(tmp_path, puppets) as here:
        await here.puppets.until_begun(1)
        assert here.view.turns[1].attempt != attempt
        assert here.puppets.assignments[1].number == 1, "what never began is not counted"


async def test_what_could_not_be_started_is_tried_again_by_the_next_supervisor(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(count=1))
        await here.end(1, TurnState.FAILED, surroundings="agent", error="no such program")
        assert "agent:a" in here.view.holds
    async with bench(tmp_path) as here:
        assert not here.view.holds
        await here.puppets.until_begun(1)


async def test_adopting_does_not_change_when_an_agent_began(tmp_path: Path) -> None:
    async def begun(here: Bench) -> list[int | None]:
        rows = await here.deck._connection.rows("SELECT started_ms FROM attempts")
        return [row["started_ms"] for row in rows]

    async with bench(tmp_path, Puppets(outlives=True)) as here:
        await here.add(spec(AgentKind.COMMAND, 1))
        await here.puppets.until_begun(1)
        await here.deck.submit(SetLimit(name="global", value=3))
        before = await begun(here)
        assert before != [None]
    async with bench(tmp_path, Puppets(outlives=True)) as here:
        await here.puppets.until_begun(1)
        await here.deck.submit(SetLimit(name="global", value=4))
        assert await begun(here) == before
        assert (await here.kinds()).count("turn.started") == 1


async def test_a_start_that_fails_at_the_first_look_lets_go_of_the_deck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(reconciler: Reconciler) -> None:
        raise OSError("no such thing")

    monkeypatch.setattr(Reconciler, "first_look", failing)
    with anyio.fail_after(10), pytest.raises(OSError, match="no such thing"):
        async with bench(tmp_path):
            pass
    assert holder(DeckPaths(tmp_path / ".batchdeck").lock) is None


async def test_a_command_that_comes_again_is_answered_as_before_and_not_carried_out(
    tmp_path: Path,
) -> None:
    command = Send(to="a", text="x", on_busy=OnBusy.QUEUE)
    async with bench(tmp_path) as here:
        await here.add(spec(count=1))
        await here.puppets.until_begun(1)
        first = await here.deck.submit(command)
        assert await here.deck.submit(command) == first
    async with bench(tmp_path) as here:
        again = await here.deck.submit(command)
        assert (again.turn, again.conversation) == (first.turn, first.conversation)
        assert sum(turn.title == "x" for turn in here.view.turns.values()) == 1


async def hold_for_editing(here: Bench, turn: int) -> None:
    await here.deck.submit(PutHold(what=f"turn:{turn}", by=for_editing("op")))


async def test_a_text_that_nobody_edits_any_more_goes_in_its_turn_after_a_restart(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec())
        await hold_for_editing(here, 1)
        await here.deck.submit(PutHold(what="turn:2", by="op"))
    async with bench(tmp_path) as here:
        assert here.view.turns[1].held_by is None
        assert here.view.turns[2].held_by == "op", "a person's own hold stays"
        (event,) = [e for e in await here.deck.events(0, 1000) if e.kind == "release"]
        assert (event.turn, event.by) == (1, OURSELVES)


async def test_a_turn_whose_edit_was_not_saved_waits_for_somebody_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec())
        await hold_for_editing(here, 1)
        await here.deck.submit(PutHold(what="turn:1", by=UNSAVED))
    async with bench(tmp_path) as here:
        assert here.view.turns[1].held_by == UNSAVED
        await hold_for_editing(here, 1)
        assert here.view.turns[1].held_by == "op, editing", "it is taken up again"


async def test_a_text_is_still_being_edited_while_others_come_and_go(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(spec())
        await hold_for_editing(here, 1)
        with pytest.raises(DeckHeld):
            async with bench(tmp_path):
                raise AssertionError("unreachable")
        assert here.view.turns[1].held_by == "op, editing"
    async with bench(tmp_path, dispatch=False) as here:
        assert here.view.turns[1].held_by == "op, editing", "a command is no supervisor"
