"""Single tasks and agents can be added, changed and taken away while everything runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from batchdeck.core.commands import (
    AddTask,
    DefineAgent,
    OnBusy,
    ReleaseHold,
    RemoveAgent,
    RetryTask,
    Send,
    SetLimit,
    SetStatus,
)
from batchdeck.core.control.wire import command_document, command_from
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Because, Status
from batchdeck.core.model.turn import TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


async def test_a_task_may_need_one_further_down_in_its_file(tmp_path: Path) -> None:
    tasks = [TaskSpec("T1", "a", depends_on=("T2",)), TaskSpec("T2", "a")]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        assert here.view.live == (2,)
        await here.end(2)
        assert here.view.live == (1,)


async def test_a_task_without_a_batch_lives_in_the_inbox(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(DefineAgent(agent=demo_agent("a", 1)))
        receipt = await here.deck.submit(AddTask(task=TaskSpec("n1", "a", prompt="do it")))
        assert receipt.batch == "inbox"
        await here.puppets.until_begun(receipt.turn)
        assert here.puppets.assignments[receipt.turn].prompt == "do it"
        await here.end(receipt.turn)
        assert here.view.batches["inbox"].state is BatchState.COMPLETED
        again = await here.deck.submit(AddTask(task=TaskSpec("n2", "a", prompt="x")))
        assert again.accepted
        assert here.view.batches["inbox"].state is BatchState.RUNNING


async def test_an_unauthorised_task_waits_until_it_is_released(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(DefineAgent(agent=demo_agent("a", 1)))
        command = AddTask(task=TaskSpec("n1", "a", prompt="x"), unauthorised=True, delivery_id="d1")
        receipt = await here.deck.submit(command)
        assert here.view.running == 0
        again = await here.deck.submit(replace(command, id="other"))
        assert again.turn == receipt.turn
        await here.deck.submit(ReleaseHold(what=f"#{receipt.turn}"))
        assert here.view.running == 1


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (TaskSpec("n1", "nobody"), "There is no agent 'nobody'"),
        (TaskSpec("T1", "a"), "has a task 'T1' already"),
        (TaskSpec("n1", "a", depends_on=("T9",)), "There is no task 'T9'"),
    ],
)
async def test_a_task_that_cannot_be_is_refused_and_nothing_is_added(
    tmp_path: Path, task: TaskSpec, words: str
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        receipt = await here.deck.submit(AddTask(task=task, batch="b"))
        assert words in receipt.message
        assert len(here.view.tasks) == 1


async def test_queued_turns_take_an_edited_definition_and_running_ones_keep_theirs(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(DefineAgent(agent=demo_agent("a", 1)))
        for key in ("n1", "n2"):
            await here.deck.submit(AddTask(task=TaskSpec(key, "a", prompt="x")))
        await here.puppets.until_begun(1)
        edited = replace(demo_agent("a", 2), timeout_seconds=9.0)
        receipt = await here.deck.submit(DefineAgent(agent=edited, create=False))
        assert receipt.accepted, receipt.message
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[1].agent.timeout_seconds is None
        assert here.puppets.assignments[2].agent.timeout_seconds == 9.0


async def test_another_limit_in_a_definition_is_in_force_whoever_set_the_one_before(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(DefineAgent(agent=demo_agent("a", 1)))
        await here.deck.submit(SetLimit(name="agent:a", value=3))
        edited = DefineAgent(agent=demo_agent("a", 5), create=False, by="ann")
        assert (await here.deck.submit(edited)).message == "agent a edited"
        limit = here.view.limits["agent:a"]
        assert (limit.value, limit.changed_by, limit.explicit) == (5, "ann", True)


async def test_a_limit_that_the_definition_does_not_change_stays_and_it_is_said(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(DefineAgent(agent=demo_agent("a", 1)))
        await here.deck.submit(SetLimit(name="agent:a", value=3))
        edited = replace(demo_agent("a", 1), timeout_seconds=9.0)
        receipt = await here.deck.submit(DefineAgent(agent=edited, create=False))
        assert "its limit stays 3" in receipt.message
        assert "batchdeck limit agent:a=1" in receipt.message
        assert here.view.limits["agent:a"].value == 3


async def test_an_agent_with_work_left_is_not_removed(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(DefineAgent(agent=demo_agent("a", 1)))
        await here.deck.submit(AddTask(task=TaskSpec("n1", "a", prompt="x")))
        assert not (await here.deck.submit(RemoveAgent(name="a"))).accepted
        await here.end(1)
        assert (await here.deck.submit(RemoveAgent(name="a"))).accepted
    async with bench(tmp_path) as here:
        assert "a" not in here.view.agents
        assert here.view.tasks[1].status is Status.DONE


@pytest.mark.parametrize(
    "command",
    [
        AddTask(task=TaskSpec("n1", "a", prompt="x", depends_on=("x",)), batch="b"),
        DefineAgent(agent=replace(demo_agent("a", None), env={"A": "b"}, command=("x", "y"))),
    ],
    ids=["task", "agent"],
)
def test_they_cross_the_socket_unchanged(command: AddTask | DefineAgent) -> None:
    assert command_from(command_document(command)) == command


async def test_a_batch_taken_up_with_changes_gives_what_waits_its_new_target_and_agent(
    tmp_path: Path,
) -> None:
    agents = [demo_agent("a", 1), demo_agent("z", 1)]
    async with bench(tmp_path) as here:
        first = TaskSpec("T1", "a")
        await here.add(batch_spec("b", [first, TaskSpec("T2", "a", target="x")], agents))
        await here.puppets.until_begun(1)
        changed = [first, TaskSpec("T2", "z", target="y")]
        await here.deck.submit(SetLimit(name="agent:z", value=0))
        await here.add(batch_spec("b", changed, agents))
        turn = here.view.turns[2]
        assert (turn.agent, turn.target) == ("z", "y")
        sent = await here.deck.submit(
            Send(to=f"c{turn.conversation}", text="hi", on_busy=OnBusy.QUEUE)
        )
        assert here.view.turns[sent.turn].agent == "z"
    async with bench(tmp_path) as here:
        assert here.view.turns[2].target == "y"


async def test_what_waits_works_where_its_agent_does_from_now_on(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
    agent = replace(demo_agent("a", 1), folder=str(tmp_path / "x"))
    async with bench(tmp_path) as here:
        tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a")]
        await here.add(batch_spec("b", tasks, [agent]))
        await here.puppets.until_begun(1)
        elsewhere = replace(agent, folder=str(tmp_path / "y"))
        await here.deck.submit(DefineAgent(agent=elsewhere, create=False))
        await here.end(1)
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].folder == tmp_path / "y"


@pytest.mark.parametrize("key", ["", "a/b", "#1", "a b"])
async def test_a_task_that_no_command_could_name_is_refused(tmp_path: Path, key: str) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        refused = await here.deck.submit(AddTask(task=TaskSpec(key, "a", prompt="x")))
        assert "cannot be a task's id" in refused.message


async def test_a_task_that_is_added_below_a_failed_one_fails_and_comes_back_with_it(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a")]))
        await here.end(1, TurnState.FAILED)
        tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a", depends_on=("T1",))]
        await here.add(batch_spec("b", tasks, [demo_agent("a")]))
        assert here.view.tasks[2].because is Because.DEPENDENCY
        assert here.view.tasks[2].error == "dependency T1 failed"
        retried = await here.deck.submit(RetryTask(task="b/T1"))
        await here.end(retried.turn)
        view = await here.until(lambda view: view.live)
        assert view.turns[view.live[0]].task == 2
        assert view.tasks[2].because is None


@pytest.mark.parametrize("delivery", [None, "d1"])
async def test_one_that_comes_back_works_in_its_own_folder(
    tmp_path: Path, delivery: str | None
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 5)]))
        await here.end(1, TurnState.FAILED)
        below = TaskSpec("T2", "a", prompt="x", depends_on=("T1",), folder=str(tmp_path))
        await here.deck.submit(AddTask(task=below, batch="b", delivery_id=delivery))
        again = await here.deck.submit(RetryTask(task="T1"))
        await here.end(again.turn)
        view = await here.until(lambda view: view.tasks[2].status is Status.IN_PROGRESS)
        folder = view.turns[view.tasks[2].turn].folder
        assert folder is not None
        assert folder.path == str(tmp_path)


async def test_a_task_that_was_done_from_the_beginning_works_in_its_folder_once_it_is_ready(
    tmp_path: Path,
) -> None:
    done = TaskSpec("T1", "a", folder=str(tmp_path), status=Status.DONE)
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [done, TaskSpec("T2", "a")], [demo_agent("a", 5)]))
    async with bench(tmp_path) as here:
        await here.deck.submit(SetStatus(task="T1", status=Status.READY))
        view = await here.until(lambda view: view.tasks[1].turn in view.live)
        folder = view.turns[view.tasks[1].turn].folder
        assert folder is not None
        assert folder.path == str(tmp_path)
