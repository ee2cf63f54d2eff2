"""Items go through their steps in item order, and are committed once, at the barrier."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.commands import (
    AddBatch,
    AnswerAsk,
    PutHold,
    ReleaseHold,
    ResumeBatch,
    RetryTask,
    SetLimit,
    SetStatus,
    StopTurn,
)
from batchdeck.core.doctor.examining import examine
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.spec import BatchSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.rules.gates import evaluate, shut
from batchdeck.core.rules.plan import plan, starts, with_limits
from batchdeck.core.view import DeckView
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio

PLAN = {"id": "plan", "agent": "a", "prompt": "Plan {{ item.path }}", "keep": "plan"}
DO = {
    "id": "do",
    "agent": "a",
    "prompt": "Do {{ plan }} ({{ index }} of {{ batch }})",
    "writes": "results",
    "reducer": "append",
}
ONE = {**DO, "prompt": "Do {{ item.path }}"}


def spec(
    folder: Path, count: int = 3, steps: list[dict[str, Any]] | None = None, **fields: Any
) -> BatchSpec:
    """A batch of items x0, x1, …; keys of the foreach are given with `foreach`."""
    items = [{"path": f"x{number}"} for number in range(count)]
    foreach = {"items": items, "steps": steps or [ONE], **fields.pop("foreach", {})}
    agents = {name: {"kind": "demo", "parallelism_limit": 9} for name in ("a", "b")}
    file = folder / "b.yaml"
    document = {"name": "b", "max_parallel": 8, "agents": agents, "foreach": foreach, **fields}
    file.write_text(json.dumps(document))
    return read_batch(file)


def turn(view: DeckView, index: int) -> int:
    """The latest turn of an item."""
    found = next(task for task in view.tasks.values() if task.index == index)
    assert found.turn is not None
    return found.turn


def status(view: DeckView, key: str) -> Status:
    return next(task for task in view.tasks.values() if task.key == key).status


def at_work(view: DeckView) -> list[int]:
    """The items that have begun and not ended."""
    over = (Status.DONE, Status.FAILED)
    return [
        task.index
        for task in view.tasks.values()
        if task.index is not None
        and task.status not in over
        and (task.step or task.status is not Status.READY)
    ]


async def finish(here: Bench, index: int, text: str = "ok", **fields: Any) -> None:
    """Ends the turn that an item is at."""
    await here.end(turn(here.view, index), fields.pop("state", TurnState.SUCCEEDED), text=text)
    assert starts(here.view, 0) == (), "the plan would start nothing that the engine has not"


async def ended(here: Bench) -> dict[str, Any]:
    """What the batch's last event says."""
    await here.until(lambda view: view.batches["b"].state is not BatchState.RUNNING)
    events = [e for e in await here.deck.events(0, 10_000) if e.kind == "batch.finished"]
    return dict(events[-1].fields)


# -- admission


async def test_items_begin_in_item_order_and_others_follow_as_they_end(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 5, foreach={"max_active": 2}))
        assert at_work(here.view) == [0, 1]
        await finish(here, 1)
        assert at_work(here.view) == [0, 2]
        await finish(here, 0)
        await finish(here, 3)
        assert at_work(here.view) == [2, 4]


async def test_an_item_that_waits_for_a_slot_is_active(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=1))
        await here.add(spec(tmp_path, 3, foreach={"max_active": 2}))
        items = here.view.items["b"]
        assert (items.active, here.view.running) == (2, 1)
        gates = shut(evaluate(here.view.turns[turn(here.view, 1)], here.view, 0))
        assert [gate.name for gate in gates] == [GateName.GLOBAL]
        gates = shut(evaluate(here.view.turns[turn(here.view, 2)], here.view, 0))
        assert GateName.ITEMS in [gate.name for gate in gates]


async def test_an_item_that_asks_is_outstanding_and_not_active(tmp_path: Path) -> None:
    limits = {"max_active": 1, "max_outstanding": 2}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 4, foreach=limits, interrupt="continue"))
        await here.puppets.until_begun(turn(here.view, 0))
        here.puppets.ask(turn(here.view, 0), "which way?")
        view = await here.until(lambda view: view.asks and view.live)
        assert at_work(view) == [0, 1]
        assert (view.items["b"].active, view.items["b"].outstanding) == (1, 2)
        await here.puppets.until_begun(turn(view, 1))
        here.puppets.ask(turn(here.view, 1), "and here?")
        view = await here.until(lambda view: len(view.asks) == 2)
        assert (view.live, at_work(view)) == ((), [0, 1]), "two are outstanding"


async def test_an_answered_item_goes_before_those_that_have_not_begun(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 4, foreach={"max_active": 1}, interrupt="continue"))
        await here.puppets.until_begun(turn(here.view, 0))
        here.puppets.ask(turn(here.view, 0), "which way?")
        await here.until(lambda view: view.asks and view.live)
        await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        assert here.view.live == (turn(here.view, 1),), "never more than the limit at work"
        await finish(here, 1)
        assert here.view.live == (turn(here.view, 0),)


async def test_a_limit_of_items_changes_at_once_and_as_foretold(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 6, foreach={"max_active": 1}))
        view = here.view
        foretold = starts(with_limits(view, {"items:b": 3}), 0)
        assert [view.turns[t].task for t in foretold] == [2, 3]
        assert len(plan(view, 0).waits) == 5
        await here.deck.submit(SetLimit(name="items:b", value=3))
        assert here.view.live == (turn(view, 0), *foretold)
        await here.deck.submit(SetLimit(name="items:b", value=1))
        await finish(here, 0)
        await finish(here, 1)
        assert at_work(here.view) == [2]
        await here.deck.submit(SetLimit(name="items:b", value=0))
        await finish(here, 2)
        assert at_work(here.view) == []
        await here.deck.submit(SetLimit(name="items:b/outstanding", value=None))
        await here.deck.submit(SetLimit(name="items:b", value=None))
        assert at_work(here.view) == [3, 4, 5]


async def test_the_number_of_items_begun_changes_at_once_and_as_foretold(tmp_path: Path) -> None:
    limits = {"max_active": 1, "max_outstanding": 1}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 4, foreach=limits, interrupt="continue"))
        await here.puppets.until_begun(turn(here.view, 0))
        here.puppets.ask(turn(here.view, 0), "which way?")
        await here.until(lambda view: view.asks)
        assert here.view.live == ()
        refused = await here.deck.submit(SetLimit(name="items:b", value=2))
        assert not refused.accepted
        foretold = starts(with_limits(here.view, {"items:b/outstanding": 2}), 0)
        assert [here.view.turns[t].task for t in foretold] == [2]
        await here.deck.submit(SetLimit(name="items:b/outstanding", value=2))
        assert here.view.live == foretold
        foretold = starts(with_limits(here.view, {"items:b/outstanding": 4, "items:b": 3}), 0)
        await here.deck.submit(SetLimit(name="items:b/outstanding", value=4))
        await here.deck.submit(SetLimit(name="items:b", value=3))
        assert here.view.live[1:] == foretold != ()


async def test_lowering_takes_back_what_had_not_started(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=1))
        await here.add(spec(tmp_path, 3, foreach={"max_active": 3}))
        await here.deck.submit(SetLimit(name="items:b", value=1))
        await here.deck.submit(SetLimit(name="global", value=4))
        assert at_work(here.view) == [0]


async def test_a_held_item_is_passed_over_and_comes_in_its_order_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 4, foreach={"max_active": 1}))
        held = turn(here.view, 1)
        await here.deck.submit(PutHold(what=f"turn:{held}"))
        await finish(here, 0)
        assert at_work(here.view) == [2]
        await here.deck.submit(ReleaseHold(what=f"turn:{held}"))
        await finish(here, 2)
        assert at_work(here.view) == [1]


# -- steps and values


async def test_a_later_step_is_given_what_an_earlier_one_kept(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [PLAN, DO]))
        await finish(here, 1, "second")
        await here.puppets.until_begun(turn(here.view, 1))
        words = here.puppets.assignments[turn(here.view, 1)]
        assert (words.prompt, words.task) == ("Do second (1 of b)", "item-1")
        first = here.puppets.assignments[turn(here.view, 0)]
        assert first.prompt == "Plan x0"


async def test_steps_go_on_in_the_items_own_conversation_at_its_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [PLAN, DO]))
        before = here.view.turns[turn(here.view, 0)]
        await here.end(before.id, text="the plan", session="s-1")
        after = here.view.turns[turn(here.view, 0)]
        assert (after.conversation, after.position) == (before.conversation, before.position)
        await here.puppets.until_begun(after.id)
        assert here.puppets.assignments[after.id].session == "s-1"
        said = [message.text for message in await here.deck.messages(after.conversation)]
        assert said == ["Plan x0", "the plan", "Do the plan (0 of b)"]


async def test_another_agent_is_not_given_the_session_of_the_one_before(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 1, [PLAN, {**DO, "agent": "b"}]))
        await here.end(turn(here.view, 0), text="the plan", session="s-1")
        await here.puppets.until_begun(turn(here.view, 0))
        given = here.puppets.assignments[turn(here.view, 0)]
        assert (given.agent.name, given.session) == ("b", None)


async def test_an_agent_is_reminded_of_its_own_steps_alone(tmp_path: Path) -> None:
    check = {"id": "check", "agent": "a", "prompt": "Check"}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 1, [PLAN, {**DO, "agent": "b"}, check]))
        await finish(here, 0, "the plan")
        second = here.view.turns[turn(here.view, 0)]
        assert await here.deck._reader.said(second) == ()
        await finish(here, 0, "done")
        third = here.view.turns[turn(here.view, 0)]
        said = await here.deck._reader.said(third)
        assert said == (("operator", "Plan x0"), ("agent", "the plan"))


async def test_an_item_reads_its_own_writes_and_no_others(tmp_path: Path) -> None:
    write = {**ONE, "id": "write", "writes": "out.all"}
    read = {"id": "read", "agent": "a", "prompt": "Read {{ out.all | join('+') }}"}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [write, read]))
        await finish(here, 0, "mine")
        await finish(here, 1, "other")
        await here.puppets.until_begun(turn(here.view, 0), turn(here.view, 1))
        prompts = [here.puppets.assignments[turn(here.view, n)].prompt for n in (0, 1)]
        assert prompts == ["Read mine", "Read other"]


async def test_writes_are_committed_in_item_order_whatever_ends_first(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 3))
        for index in (2, 1, 0):
            assert here.view.batches["b"].committed is None
            await finish(here, index, f"r{index}")
        found = await ended(here)
        assert found["state"] == BatchState.COMPLETED
        assert found["values"] == {"results": ["r0", "r1", "r2"]}
        assert [entry["index"] for entry in found["results"]] == [0, 1, 2]
        assert [entry["output"] for entry in found["results"]] == ["r0", "r1", "r2"]


async def test_every_step_of_an_item_adds_its_writes(tmp_path: Path) -> None:
    count = {"id": "n", "agent": "a", "prompt": "Count", "writes": "n", "reducer": "sum"}
    about = {"id": "m", "agent": "a", "prompt": "About", "writes": "about.all"}
    steps = [{**count, "as": "number"}, {**about, "as": "json", "reducer": "merge"}]
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, steps))
        for index in (1, 0):
            await finish(here, index, f" {index + 1}\n")
            await finish(here, index, json.dumps({f"x{index}": index, "who": index}))
        found = await ended(here)
        assert found["values"] == {
            "n": 3,
            "about": {"all": {"x0": 0, "x1": 1, "who": 1}},
        }


async def test_an_answer_that_is_not_what_its_step_declares_is_a_failed_turn(
    tmp_path: Path,
) -> None:
    step = {**ONE, "as": "number", "reducer": "sum"}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 3, [step], max_attempts=1))
        await finish(here, 0, "a few")
        await finish(here, 1, "4")
        await finish(here, 2, "NaN")
        found = await ended(here)
        assert found["values"] == {"results": 4}
        assert found["state"] == BatchState.COMPLETED_WITH_ERRORS
        assert "not a number" in found["results"][0]["error"]


async def test_an_answer_that_a_later_step_cannot_use_fails_the_item(tmp_path: Path) -> None:
    plans = [{**PLAN, "as": "json"}, {**DO, "prompt": "Do {{ plan.title }}"}]
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 1, plans))
        await finish(here, 0, "{}")
        found = await ended(here)
        assert "step do cannot go on with it" in found["results"][0]["error"]


async def test_a_step_that_is_tried_again_is_given_its_own_words(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 1, [PLAN, DO]))
        await finish(here, 0, "the plan")
        await finish(here, 0, state=TurnState.FAILED)
        await ended(here)
        assert not (await here.deck.submit(RetryTask(task="foreach"))).accepted


async def test_a_step_that_failed_is_retried_from_that_step(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [PLAN, DO]))
        await finish(here, 0, "the plan")
        await finish(here, 0, state=TurnState.FAILED)
        assert status(here.view, "item-0") is Status.FAILED
        assert (await here.deck.submit(RetryTask(task="item-0"))).accepted
        await here.puppets.until_begun(turn(here.view, 0))
        assert here.puppets.assignments[turn(here.view, 0)].prompt == "Do the plan (0 of b)"
        await finish(here, 0, "done now")
        await finish(here, 1, "p")
        await finish(here, 1, "d")
        assert (await ended(here))["values"] == {"results": ["done now", "d"]}


async def test_a_stopped_step_goes_on_with_its_own_words_once_it_is_released(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 1, [PLAN, DO]))
        await finish(here, 0, "the plan")
        await here.puppets.until_begun(turn(here.view, 0))
        await here.deck.submit(StopTurn(turn=turn(here.view, 0)))
        held = turn(here.view, 0)
        assert here.view.turns[held].held_by is not None
        await here.deck.submit(ReleaseHold(what=f"turn:{held}"))
        await here.puppets.until_begun(held)
        assert here.puppets.assignments[held].prompt == "Do the plan (0 of b)"


# -- errors


async def test_fail_admits_nothing_more_keeps_results_and_commits_nothing(tmp_path: Path) -> None:
    limits = {"max_active": 2}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 4, [PLAN, DO], foreach=limits, on_error="fail"))
        await finish(here, 0, state=TurnState.FAILED)
        assert here.view.live == (turn(here.view, 1),), "what runs goes on, and nothing begins"
        await finish(here, 1, "seen")
        found = await ended(here)
        assert (found["state"], found["values"]) == (BatchState.FAILED, {})
        assert found["results"][1]["status"] == Status.READY
        assert here.view.batches["b"].committed is None
        assert status(here.view, "foreach") is Status.BACKLOG


async def test_a_batch_that_failed_goes_on_where_it_was(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 3, [PLAN, DO], foreach={"max_active": 2}, on_error="fail"))
        await finish(here, 0, state=TurnState.FAILED)
        await finish(here, 1, "the plan")
        await ended(here)
        await here.deck.submit(RetryTask(task="item-0"))
        assert at_work(here.view) == [0, 1]
        await here.puppets.until_begun(turn(here.view, 1))
        given = here.puppets.assignments[turn(here.view, 1)]
        assert given.prompt == "Do the plan (1 of b)"
        await finish(here, 1, "r1")
        for index in (0, 2):
            await finish(here, index, "p")
            await finish(here, index, f"r{index}")
        assert (await ended(here))["values"] == {"results": ["r0", "r1", "r2"]}


async def test_skip_commits_what_succeeded(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 3))
        await finish(here, 2, "r2")
        await finish(here, 0, "r0")
        await finish(here, 1, state=TurnState.FAILED)
        found = await ended(here)
        assert found["state"] == BatchState.COMPLETED_WITH_ERRORS
        assert found["values"] == {"results": ["r0", "r2"]}


async def test_what_an_item_wrote_before_it_failed_is_not_committed(tmp_path: Path) -> None:
    last = {"id": "last", "agent": "a", "prompt": "Check"}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [ONE, last]))
        for index in (0, 1):
            await finish(here, index, f"r{index}")
        await finish(here, 0, state=TurnState.FAILED)
        await finish(here, 1)
        assert (await ended(here))["values"] == {"results": ["r1"]}


async def test_collect_writes_one_record_for_each_failure_in_item_order(tmp_path: Path) -> None:
    fields = {"on_error": "collect", "collect_to": "went.wrong"}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 3, [PLAN, DO], **fields))
        await finish(here, 2, state=TurnState.FAILED)
        await finish(here, 1, "p")
        await finish(here, 1, "r1")
        await finish(here, 0, "p")
        await here.end(turn(here.view, 0), TurnState.FAILED, error="too hard")
        turns = [str(turn(here.view, index)) for index in (0, 2)]
        found = await ended(here)
        assert found["state"] == BatchState.COMPLETED_WITH_ERRORS
        assert found["values"]["results"] == ["r1"]
        assert found["values"]["went"]["wrong"] == [
            record(0, "do", turns[0], "too hard"),
            record(2, "plan", turns[1], "failed"),
        ]


def record(index: int, step: str, turn: str, message: str) -> dict[str, Any]:
    item = {"path": f"x{index}"}
    words = {"step": step, "turn": turn, "kind": "failed", "message": message}
    return {"index": index, "task": f"item-{index}", "item": item, **words}


async def test_a_negative_answer_is_no_error_and_a_failure_is_one_after_its_attempts(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        fields = {"on_error": "collect", "collect_to": "errors", "max_attempts": 2}
        await here.add(spec(tmp_path, 2, **fields))
        await finish(here, 0, "error: this cannot be done")
        await finish(here, 1, state=TurnState.FAILED)
        again = here.view.turns[turn(here.view, 1)]
        assert (again.trigger, again.state) == (Trigger.RETRY, TurnState.QUEUED)
        assert here.view.batches["b"].state is BatchState.RUNNING
        await here.deck.submit(SetStatus(task="item-1", status=Status.DONE))
        found = await ended(here)
        assert found["state"] == BatchState.COMPLETED
        assert found["values"] == {"results": ["error: this cannot be done"], "errors": []}


async def test_collect_without_a_failure_writes_an_empty_list(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 1, on_error="collect", collect_to="errors"))
        await finish(here, 0, "r0")
        found = await ended(here)
        assert found["state"] == BatchState.COMPLETED
        assert found["values"] == {"results": ["r0"], "errors": []}


# -- asks


async def test_an_item_that_asks_lets_nothing_begin_until_it_is_answered(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 3, foreach={"max_active": 2}))
        await here.puppets.until_begun(turn(here.view, 0), turn(here.view, 1))
        here.puppets.ask(turn(here.view, 1), "which way?", "left", "right")
        view = await here.until(lambda view: view.asks)
        assert view.mode == "quiescing"
        await finish(here, 0, "r0")
        assert (here.view.live, here.view.turns[turn(here.view, 2)].attempts) == ((), 0)
        gates = shut(evaluate(here.view.turns[turn(here.view, 2)], here.view, 0))
        assert gates[0].subject == "batch b waits for an answer"
        refused = await here.deck.submit(AnswerAsk(ask=1, answer="up"))
        assert not refused.accepted
        await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        assert here.view.live == (turn(here.view, 1), turn(here.view, 2)), "it goes first"
        await finish(here, 2, "r2")
        await finish(here, 1, "r1")
        assert (await ended(here))["values"] == {"results": ["r0", "r1", "r2"]}


async def test_an_answered_item_that_was_never_started_waits_for_its_place_again(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, foreach={"max_active": 1}, interrupt="continue"))
        await here.puppets.until_begun(turn(here.view, 0))
        here.puppets.ask(turn(here.view, 0), "which way?")
        await here.until(lambda view: view.asks and view.live)
        await finish(here, 1)
        await here.deck.submit(SetLimit(name="items:b", value=0))
        await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        await here.deck.submit(SetLimit(name="items:b", value=1))
        await here.puppets.until_begun(again := turn(here.view, 0))
        await here.deck.submit(SetLimit(name="items:b", value=0))
        await here.end(again, TurnState.QUEUED)
        assert (here.view.live, status(here.view, "item-0")) == ((), Status.READY)


async def test_nothing_is_committed_while_an_item_asks(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, interrupt="continue"))
        await here.puppets.until_begun(turn(here.view, 1))
        here.puppets.ask(turn(here.view, 1), "which way?")
        await here.until(lambda view: view.asks)
        await finish(here, 0, "r0")
        await here.deck.audit()
        assert here.view.batches["b"].committed is None
        await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        await finish(here, 1, "r1")
        assert (await ended(here))["values"] == {"results": ["r0", "r1"]}


# -- the barrier


async def test_a_task_after_the_barrier_waits_for_it(tmp_path: Path) -> None:
    after = [{"id": "sum", "agent": "a", "prompt": "Sum up", "depends_on": ["foreach"]}]
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, tasks=after))
        await finish(here, 0, "r0")
        assert status(here.view, "sum") is Status.READY
        await finish(here, 1, "r1")
        view = await here.until(lambda view: status(view, "sum") is Status.IN_PROGRESS)
        assert view.batches["b"].committed is not None
        counts = view.task_counts["b"]
        assert sum(counts.values()) == 3, "the barrier is no task of anybody's"


async def test_a_foreach_without_items_is_done_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 0))
        found = await ended(here)
        assert (found["state"], found["values"]) == (BatchState.COMPLETED, {})


async def test_values_that_do_not_go_together_commit_nothing_and_name_the_item(
    tmp_path: Path,
) -> None:
    step = {**ONE, "as": "number", "reducer": "sum"}
    after = [{"id": "sum", "agent": "a", "prompt": "Sum up", "depends_on": ["foreach"]}]
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [step], tasks=after))
        await finish(here, 0, "1e308")
        await finish(here, 1, "1e308")
        found = await ended(here)
        assert (found["state"], found["values"]) == (BatchState.FAILED, {})
        error = next(task.error for task in here.view.tasks.values() if task.key == "foreach")
        assert error is not None
        assert "item 1, after item 0, writes 'results'" in error
        assert status(here.view, "sum") is Status.FAILED
        await here.deck.submit(RetryTask(task="item-0"))
        refused = await here.deck.submit(SetStatus(task="foreach", status=Status.DONE))
        assert "stands for the barrier" in refused.message


async def test_what_is_committed_cannot_change_any_more(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2))
        await finish(here, 0, "r0")
        await finish(here, 1, state=TurnState.FAILED)
        await ended(here)
        refused = await here.deck.submit(RetryTask(task="item-1"))
        assert "its barrier is committed" in refused.message
        refused = await here.deck.submit(AddBatch(spec=spec(tmp_path, 3)))
        assert "1 item is new (item-2)" in refused.message
    with sqlite3.connect(tmp_path / ".batchdeck" / "deck.db") as raw:
        with pytest.raises(sqlite3.IntegrityError, match="never changes"):
            raw.execute("UPDATE batches SET committed = '{}'")
        with pytest.raises(sqlite3.IntegrityError, match="has been committed"):
            raw.execute("INSERT INTO item_values VALUES (1, 1, 'write', 'x', NULL, '1')")


# -- taken up again


async def test_items_done_stay_done_and_what_they_left_is_kept(tmp_path: Path) -> None:
    batch = spec(tmp_path, 3, [PLAN, DO], foreach={"max_active": 2})
    async with bench(tmp_path) as here:
        await here.add(batch)
        await finish(here, 1, "the plan")
        await finish(here, 0, "p")
        await finish(here, 0, "r0")
    async with bench(tmp_path) as here:
        await here.deck.submit(ResumeBatch(batch="b"))
        assert at_work(here.view) == [1, 2]
        await here.puppets.until_begun(turn(here.view, 1))
        given = here.puppets.assignments[turn(here.view, 1)]
        assert given.prompt == "Do the plan (1 of b)"
        await finish(here, 1, "r1")
        await finish(here, 2, "p")
        await finish(here, 2, "r2")
        assert (await ended(here))["values"] == {"results": ["r0", "r1", "r2"]}


async def test_the_same_file_again_takes_the_items_up(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 3, foreach={"max_active": 1}))
        await here.puppets.until_begun(turn(here.view, 0))
        await here.add(spec(tmp_path, 4, foreach={"max_active": 1}))
        assert sum(task.index is not None for task in here.view.tasks.values()) == 4
        step = {**ONE, "prompt": "Otherwise {{ item.path }}"}
        refused = await here.deck.submit(AddBatch(spec=spec(tmp_path, 4, [step])))
        assert "item-0 has begun and is different now" in refused.message


BROKEN = [
    ("UPDATE batches SET foreach = '{'", "its steps cannot be read"),
    ("UPDATE batches SET foreach = '{\"steps\": []}'", "it has no steps"),
    ("UPDATE item_values SET step = 7", "what item 0 wrote at step 8: there are 1 steps"),
    ("UPDATE item_values SET name = 'other'", "is for 'other', and the step writes 'results'"),
    ("UPDATE item_values SET value = '{'", "what item 0 wrote at step 1 cannot be read"),
    ("UPDATE batches SET committed = '{\"items\": -1}'", "its barrier cannot be read"),
    (
        'UPDATE batches SET committed = \'{"items": 2, "patches": 2, "digest": "x"}\'',
        "2 writes were committed, and 1 are there",
    ),
    (
        'UPDATE batches SET committed = \'{"items": 1, "patches": 1, "digest": "x"}\'',
        "what was committed is not what is there",
    ),
]


@pytest.mark.parametrize(("damage", "words"), BROKEN, ids=[words for _, words in BROKEN])
async def test_a_stored_barrier_that_makes_no_sense_fails_at_once_and_changes_nothing(
    tmp_path: Path, damage: str, words: str
) -> None:
    batch = spec(tmp_path, 2, foreach={"max_active": 1})
    async with bench(tmp_path) as here:
        await here.add(batch)
        await finish(here, 0, "r0")
        await here.deck.submit(SetLimit(name="global", value=0))
    database = tmp_path / ".batchdeck" / "deck.db"
    with sqlite3.connect(database) as raw:
        raw.execute(damage)
    async with bench(tmp_path) as here:
        before = stored(database)
        for command in (AddBatch(spec=batch), ResumeBatch(batch="b"), ResumeBatch()):
            refused = await here.deck.submit(command)
            assert (refused.accepted, refused.exit_code) == (False, 1)
            assert words in refused.message
        assert stored(database) == before
    (finding,) = [
        one
        for one in examine(DeckPaths(database.parent), {}, lambda ui: (), repair=False)
        if (one.check == "rows")
    ]
    assert words in finding.words


def stored(database: Path) -> list[Any]:
    """What the deck's file says of batches, items and turns."""
    with sqlite3.connect(database) as raw:
        return [
            raw.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("batches", "tasks", "turns", "item_values")
        ]
