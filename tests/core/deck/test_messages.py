"""Messages from people: refused with the gates, queued, forced past what was shown, never lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import AddTask, OnBusy, ReleaseHold, Send, SetLimit, StopTurn
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


async def busy(here: Bench, *, serial: bool = False, tasks: int = 1, limits=None) -> None:
    """Agent `a` works on one task, at its limit of 1."""
    agent = replace(demo_agent("a", 1), serial=serial)
    specs = [TaskSpec(f"T{n}", "a") for n in range(1, tasks + 1)]
    await here.add(batch_spec("b", specs, [agent], limits))
    await here.puppets.until_begun(1)


async def test_a_message_to_a_free_agent_starts_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        await here.end(1)
        receipt = await here.deck.submit(Send(to="a", text="hello"))
        assert receipt.state is TurnState.RUNNING
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].prompt == "hello"


async def test_an_agent_that_may_have_lost_its_session_is_handed_the_exchange_too(
    tmp_path: Path,
) -> None:
    agent = replace(demo_agent("a", 1), kind=AgentKind.ACP)
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a", prompt="begin")], [agent]))
        await here.end(1, text="begun", session="s")
        await here.deck.submit(Send(to="T1", text="more"))
        await here.puppets.until_begun(2)
        given = here.puppets.assignments[2]
        assert (given.prompt, given.session) == ("more", "s")
        assert given.said == (("operator", "begin"), ("agent", "begun"))


async def test_a_message_to_a_busy_agent_is_refused_and_leaves_no_row(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        receipt = await here.deck.submit(Send(to="a", text="hello"))
        assert not receipt.accepted
        assert receipt.exit_code == 3
        assert receipt.error == "agent_parallelism_limit_reached"
        assert receipt.gates[0].name is GateName.AGENT
        assert receipt.gates[0].holders[0].turn == 1
        assert receipt.position == 1
        assert receipt.message == (
            "a is busy: agent a 1/1; in the way: #1 T1. --on-busy queue waits for it, "
            "1st in line; --on-busy force starts it past these limits."
        )
        assert len(here.view.turns) == 1
        assert len(await here.deck.messages(2)) == 0


async def test_force_is_not_advised_where_it_is_impossible(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here, serial=True)
        refused = await here.deck.submit(Send(to="a", text="hello"))
        assert "#1 T1" in refused.message
        assert "queue" in refused.message
        assert "force" not in refused.message
        forced = await here.deck.submit(Send(to="a", text="hello", on_busy=OnBusy.FORCE))
        assert "Cannot be forced" in forced.message
        assert "#1 T1" in forced.message
        assert "--on-busy queue" in forced.message


async def test_a_queued_message_overtakes_tasks_and_stops_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here, tasks=3)
        receipt = await here.deck.submit(Send(to="a", text="hello", on_busy=OnBusy.QUEUE))
        assert (receipt.state, receipt.position) == (TurnState.QUEUED, 1)
        assert here.view.live == (1,)
        await here.end(1)
        assert here.view.live == (receipt.turn,)


async def test_a_forced_message_runs_beside_the_others_and_says_what_it_passed(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await busy(here, tasks=2)
        receipt = await here.deck.submit(Send(to="a", text="now", on_busy=OnBusy.FORCE, by="op"))
        assert receipt.state is TurnState.RUNNING
        assert receipt.bypassed == ("agent",)
        assert here.view.running_by["agent:a"] == 2
        forced = here.view.turns[receipt.turn]
        assert (forced.forced, forced.forced_by) == (("agent",), "op")
        await here.end(1)
        assert here.view.live == (receipt.turn,), "a forced turn takes nobody's place"


async def test_force_passes_every_shut_capacity_gate_and_names_them(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=1))
        await busy(here, limits={"batch:b": 1, "status:b/READY": 1})
        receipt = await here.deck.submit(Send(to="a", text="x", on_busy=OnBusy.FORCE))
        assert set(receipt.bypassed) == {"agent", "global"}


async def test_a_message_is_forced_past_a_limit_that_was_lowered_below_what_runs(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        tasks = [TaskSpec(f"T{n}", "a") for n in range(1, 5)]
        await here.add(batch_spec("b", tasks, [demo_agent("a", 5), demo_agent("other", 1)]))
        await here.puppets.until_begun(1, 2, 3, 4)
        await here.deck.submit(SetLimit(name="global", value=1))
        receipt = await here.deck.submit(Send(to="other", text="x", on_busy=OnBusy.FORCE))
        assert receipt.bypassed == ("global",)
        await here.puppets.until_begun(receipt.turn)
        assert here.view.running == 5


async def test_force_never_passes_a_closed_limit(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        await here.deck.submit(SetLimit(name="global", value=0))
        receipt = await here.deck.submit(Send(to="a", text="x", on_busy=OnBusy.FORCE))
        assert not receipt.accepted


async def test_force_never_passes_a_serial_agent(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here, serial=True)
        receipt = await here.deck.submit(Send(to="a", text="x", on_busy=OnBusy.FORCE))
        assert receipt.exit_code == 3
        assert here.view.running == 1


async def test_force_is_busy_again_when_another_gate_has_shut_meanwhile(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        await here.deck.submit(SetLimit(name="global", value=1))
        shown = frozenset({GateName.AGENT})
        command = Send(to="a", text="x", on_busy=OnBusy.FORCE, passing=shown)
        receipt = await here.deck.submit(command)
        assert not receipt.accepted
        assert {gate.name for gate in receipt.gates} == {GateName.AGENT, GateName.GLOBAL}


async def test_next_in_queue_goes_before_the_agents_other_messages(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        first = await here.deck.submit(Send(to="a", text="1", on_busy=OnBusy.QUEUE))
        front = Send(to="a", text="2", on_busy=OnBusy.QUEUE, front=True)
        second = await here.deck.submit(front)
        assert second.position == 1
        await here.end(1)
        assert here.view.live == (second.turn,)
        assert here.view.turns[first.turn].state is TurnState.QUEUED


async def test_a_message_to_a_task_goes_to_its_conversation_and_waits_for_its_turn(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 5)]))
        receipt = await here.deck.submit(Send(to="T1", text="x"))
        assert receipt.error == "busy"
        assert receipt.gates[0].name is GateName.CONVERSATION
        queued = await here.deck.submit(Send(to="b/T1", text="x", on_busy=OnBusy.QUEUE))
        assert queued.conversation == here.view.turns[1].conversation
        assert here.view.turns[queued.turn].lane is Status.IN_PROGRESS
        await here.end(1)
        assert here.view.live == (queued.turn,)


async def test_a_message_to_a_conversation_by_its_name(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        await here.end(1)
        first = await here.deck.submit(Send(to="a", text="hello"))
        await here.end(first.turn, text="hi there")
        second = await here.deck.submit(Send(to=f"c{first.conversation}", text="more"))
        assert second.conversation == first.conversation
        told = [(m.role, m.text) for m in await here.deck.messages(first.conversation)]
        assert told == [("operator", "hello"), ("agent", "hi there"), ("operator", "more")]


async def test_turns_of_a_target_run_in_the_order_received(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 5)]))
        first = await here.deck.submit(Send(to="a", text="1", target="issue-1"))
        urgent = Send(to="a", text="2", target="issue-1", on_busy=OnBusy.QUEUE, priority=999)
        second = await here.deck.submit(urgent)
        other = await here.deck.submit(Send(to="a", text="3", target="issue-2"))
        assert other.state is TurnState.RUNNING
        assert here.view.turns[second.turn].state is TurnState.QUEUED
        await here.end(first.turn)
        assert second.turn in here.view.live


async def test_an_unauthorised_message_keeps_its_place_and_blocks_its_target(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 5)]))
        first = await here.deck.submit(Send(to="a", text="1", target="x", unauthorised=True))
        second = Send(to="a", text="2", target="x", on_busy=OnBusy.QUEUE)
        await here.deck.submit(second)
        assert here.view.live == (1,)
        await here.deck.submit(ReleaseHold(what=f"#{first.turn}"))
        assert here.view.live == (1, first.turn)


async def test_the_same_delivery_is_received_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        command = {"to": "a", "text": "x", "on_busy": OnBusy.QUEUE, "delivery_id": "d1"}
        first = await here.deck.submit(Send(**command))
        second = await here.deck.submit(Send(**command))
        assert first.turn == second.turn
        assert len(here.view.turns) == 2


async def test_two_deliveries_of_one_id_at_the_same_moment_are_one_message(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        receipts = []

        async def deliver() -> None:
            send = Send(to="a", text="x", on_busy=OnBusy.QUEUE, delivery_id="d1")
            receipts.append(await here.deck.submit(send))

        async with anyio.create_task_group() as both:
            for _ in range(5):
                both.start_soon(deliver)
        assert {(receipt.accepted, receipt.turn) for receipt in receipts} == {(True, 2)}
        assert here.view.fault is None
        third = await here.deck.submit(Send(to="a", text="y", on_busy=OnBusy.QUEUE))
        assert third.turn == 3, "no number is taken by a repetition"


async def test_a_delivery_is_known_when_its_turn_has_left_memory_long_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batchdeck.core.deck.opening.KEPT_ENDED", 0)
    again = AddTask(task=TaskSpec("N1", "a", prompt="x"), delivery_id="d2")
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [], [demo_agent("a", 1)]))
        await here.deck.submit(Send(to="a", text="x", delivery_id="d1"))
        await here.end(1)
        await here.deck.submit(again)
        await here.end(2)
    async with bench(tmp_path) as here:
        assert not here.view.turns
        receipt = await here.deck.submit(Send(to="a", text="x", delivery_id="d1"))
        assert (receipt.turn, receipt.state) == (1, TurnState.SUCCEEDED)
        assert (await here.deck.submit(replace(again, id="other"))).accepted
        assert len(here.view.tasks) == 1
        mixed = AddTask(task=TaskSpec("N2", "a", prompt="x"), delivery_id="d1")
        assert "was a message" in (await here.deck.submit(mixed)).message


async def test_nobody_of_that_name_is_said_with_those_there_are(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        receipt = await here.deck.submit(Send(to="coder", text="x"))
        assert (receipt.error, receipt.exit_code) == ("not_found", 2)
        assert "Agents here: a" in receipt.message


async def test_a_stopped_turn_keeps_the_messages_behind_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await busy(here)
        queued = await here.deck.submit(Send(to="T1", text="x", on_busy=OnBusy.QUEUE))
        await here.deck.submit(StopTurn(turn=1))
        assert here.view.turns[queued.turn].state in (TurnState.QUEUED, TurnState.RUNNING)


@pytest.mark.parametrize("to", ["T1", "c1"])
async def test_a_reply_works_where_its_conversation_did_when_that_has_left_memory_long_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    monkeypatch.setattr("batchdeck.core.deck.opening.KEPT_ENDED", 0)
    work = tmp_path / "work"
    work.mkdir()
    async with bench(tmp_path) as here:
        tasks = [TaskSpec("T1", "a", folder=str(work))]
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        await here.end(1)
    async with bench(tmp_path) as here:
        assert not here.view.turns
        receipt = await here.deck.submit(Send(to=to, text="and now?"))
        await here.puppets.until_begun(receipt.turn)
        turn = here.view.turns[receipt.turn]
        assert turn.trigger is Trigger.REPLY
        assert turn.folder is not None
        assert turn.folder.path == str(work)
