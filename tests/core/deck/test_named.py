"""Steps of several items take their turns in one conversation of their batch, by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.commands import (
    AddBatch,
    AnswerAsk,
    OnBusy,
    PutHold,
    ReleaseHold,
    ResumeBatch,
    RetargetTurn,
    RetryTask,
    Send,
    SetStatus,
)
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.gates import evaluate, shut
from batchdeck.core.view import DeckView
from tests.core.deck.test_foreach import DO, ONE, PLAN, at_work, ended, finish, spec, status, turn
from tests.support.puppets import Bench, Puppets, bench

pytestmark = pytest.mark.anyio

LOG = {**ONE, "conversation": "log"}
"""A single step that all items take in one conversation."""
WRITE = {**DO, "conversation": "log"}


def live(view: DeckView) -> list[int]:
    """The items whose turns run."""
    tasks = (view.tasks[view.turns[one].task or 0] for one in view.live)
    return [task.index for task in tasks if task.index is not None]


def conversation(here: Bench, index: int) -> int:
    return here.view.turns[turn(here.view, index)].conversation


async def test_items_of_one_conversation_work_one_at_a_time_and_others_beside_them(
    tmp_path: Path,
) -> None:
    shared = {**ONE, "conversation": "{{ 'log' if index < 3 else '' }}"}
    async with bench(tmp_path, max_parallel_cap=8) as here:
        await here.add(spec(tmp_path, 5, [shared], foreach={"max_active": 5}))
        assert live(here.view) == [0, 3, 4]
        assert here.view.items["b"].active == 5, "one that waits for a conversation is at work"
        waiting = shut(evaluate(here.view.turns[turn(here.view, 2)], here.view, 0))
        [gate] = [gate for gate in waiting if gate.name is GateName.CONVERSATION]
        number = conversation(here, 0)
        assert (gate.subject, gate.used) == (f"c{number} (log)", 2)
        await finish(here, 4)
        await finish(here, 0)
        assert live(here.view) == [3, 1]
        await finish(here, 1)
        await finish(here, 2)
        await finish(here, 3)
        assert (await ended(here))["values"] == {"results": ["ok"] * 5}


async def test_a_conversation_is_taken_in_the_order_in_which_items_come_to_it(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 4, [PLAN, WRITE]))
        await finish(here, 2, "p2")
        assert live(here.view) == [0, 1, 3, 2], "nobody was before it"
        await finish(here, 3, "p3")
        await finish(here, 1, "p1")
        assert live(here.view) == [0, 2]
        await finish(here, 2)
        assert live(here.view) == [0, 1], "of those that wait, item order"
        assert conversation(here, 1) == conversation(here, 3) != conversation(here, 0)


async def test_its_agent_goes_on_in_its_own_session_and_knows_what_was_said(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [LOG]))
        first = turn(here.view, 0)
        await here.end(first, text="done x0", session="s-1")
        second = here.view.turns[turn(here.view, 1)]
        await here.puppets.until_begun(second.id)
        assert here.puppets.assignments[second.id].session == "s-1"
        said = (("operator", "Do x0"), ("agent", "done x0"))
        assert await here.deck._reader.said(second) == said
        words = [message.text for message in await here.deck.messages(second.conversation)]
        assert words == ["Do x0", "Do x1", "done x0"]


async def test_the_items_own_conversation_goes_on_where_it_was(tmp_path: Path) -> None:
    check = {"id": "check", "agent": "a", "prompt": "Check"}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 1, [PLAN, WRITE, check]))
        own = conversation(here, 0)
        await here.end(turn(here.view, 0), text="the plan", session="own")
        assert conversation(here, 0) != own
        await here.end(turn(here.view, 0), text="written", session="shared")
        third = here.view.turns[turn(here.view, 0)]
        assert third.conversation == own
        await here.puppets.until_begun(third.id)
        assert here.puppets.assignments[third.id].session == "own"
        said = [message.text for message in await here.deck.messages(own)]
        assert said == ["Plan x0", "the plan", "Check"]


async def test_an_own_conversation_does_not_begin_with_what_was_told_elsewhere(
    tmp_path: Path,
) -> None:
    check = {"id": "check", "agent": "a", "prompt": "Check"}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 1, [LOG, check]))
        await finish(here, 0)
        last = here.view.turns[turn(here.view, 0)]
        assert await here.deck._reader.said(last) == ()
        assert [m.text for m in await here.deck.messages(last.conversation)] == ["Check"]


async def test_another_supervisor_goes_on_in_the_same_conversations(tmp_path: Path) -> None:
    batch = spec(tmp_path, 4, [LOG])
    async with bench(tmp_path) as here:
        await here.add(batch)
        await here.end(turn(here.view, 0), text="ok", session="s-1")
        number = conversation(here, 1)
    async with bench(tmp_path) as here:
        await here.deck.submit(ResumeBatch(batch="b"))
        assert live(here.view) == [1]
        await here.puppets.until_begun(turn(here.view, 1))
        assert here.puppets.assignments[turn(here.view, 1)].session == "s-1"
        for index in (1, 2, 3):
            assert conversation(here, index) == number
            assert live(here.view) == [index]
            await finish(here, index)
        assert (await ended(here))["values"] == {"results": ["ok"] * 4}


async def test_a_step_that_is_tried_again_is_told_its_own_words_and_not_anothers(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [LOG], on_error="skip"))
        await finish(here, 0, state=TurnState.FAILED)
        await finish(here, 1)
        await here.deck.submit(RetryTask(task="item-0"))
        again = turn(here.view, 0)
        await here.puppets.until_begun(again)
        given = here.puppets.assignments[again]
        assert (given.prompt, conversation(here, 0)) == ("Do x0", conversation(here, 1))


async def test_what_stops_or_completes_an_item_finds_its_turn_in_the_conversation(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 3, [LOG]))
        await here.deck.submit(SetStatus(task="item-1", status="DONE"))
        assert here.view.turns[turn(here.view, 1)].state is TurnState.SUPERSEDED
        await finish(here, 0)
        assert live(here.view) == [2]
        await here.deck.audit()
        assert here.view.violations == ()


async def test_a_message_to_an_item_goes_to_the_conversation_that_its_step_is_in(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [LOG]))
        receipt = await here.deck.submit(Send(to="item-0", text="hi", on_busy=OnBusy.QUEUE))
        message = here.view.turns[receipt.turn or 0]
        assert message.conversation == conversation(here, 0)
        assert message.state is TurnState.QUEUED


# -- nobody waits for ever


@pytest.mark.parametrize("interrupt", ["quiesce", "continue"])
async def test_an_answered_item_goes_on_though_all_at_work_wait_behind_it(
    tmp_path: Path, interrupt: str
) -> None:
    async with bench(tmp_path) as here:
        limits = {"max_active": 2}
        await here.add(spec(tmp_path, 3, [PLAN, WRITE], foreach=limits, interrupt=interrupt))
        await finish(here, 0, "p")
        await here.puppets.until_begun(turn(here.view, 0))
        if interrupt == "quiesce":
            await finish(here, 1, "p")
        here.puppets.ask(turn(here.view, 0), "which way?")
        await here.until(lambda view: view.asks)
        if interrupt == "continue":
            await finish(here, 1, "p")
            await finish(here, 2, "p")
        assert here.view.live == ()
        await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        assert live(here.view) == [0], "the first of the line goes on, whatever is at work"
        await finish(here, 0)
        await finish(here, 1)
        if interrupt == "quiesce":
            await finish(here, 2, "p")
        await finish(here, 2)
        assert (await ended(here))["values"] == {"results": ["ok"] * 3}


async def test_a_released_item_goes_on_though_all_at_work_wait_behind_it(tmp_path: Path) -> None:
    early = {**PLAN, "conversation": "{{ 'log' if index == 0 else '' }}"}
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(spec(tmp_path, 3, [early, WRITE], foreach={"max_active": 2}))
        held = turn(here.view, 0)
        await here.deck.submit(PutHold(what=f"turn:{held}"))
        await here.deck.submit(ReleaseHold(what="deck"))
        await finish(here, 1, "p")
        await finish(here, 2, "p")
        assert (here.view.live, at_work(here.view)) == ((), [1, 2])
        await here.deck.submit(ReleaseHold(what=f"turn:{held}"))
        assert live(here.view) == [0]
        assert here.view.items["b"].active == 3


async def test_an_answered_item_of_a_target_goes_on_likewise(tmp_path: Path) -> None:
    write = {**DO, "target": "t"}
    async with bench(tmp_path) as here:
        limits = {"max_active": 1}
        await here.add(spec(tmp_path, 2, [PLAN, write], foreach=limits, interrupt="continue"))
        await finish(here, 0, "p")
        await here.puppets.until_begun(turn(here.view, 0))
        here.puppets.ask(turn(here.view, 0), "which way?")
        await here.until(lambda view: view.asks)
        await finish(here, 1, "p")
        assert here.view.live == ()
        await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        assert live(here.view) == [0]


# -- one agent has it


async def test_a_name_that_another_agent_has_fails_the_item_in_words(tmp_path: Path) -> None:
    late = {**DO, "agent": "b", "conversation": "{{ plan }}"}
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [{**PLAN, "conversation": "log"}, late]))
        await finish(here, 0, "log")
        assert status(here.view, "item-0") is Status.FAILED
        task = next(task for task in here.view.tasks.values() if task.index == 0)
        words = "step do cannot go on with it: conversation 'log' is a's, and b cannot share it"
        assert task.error == words
        await finish(here, 1, "other")
        assert status(here.view, "item-1") is Status.IN_PROGRESS


async def test_a_turn_in_it_goes_to_no_other_agent(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(spec(tmp_path, 1, [LOG]))
        receipt = await here.deck.submit(RetargetTurn(turn=turn(here.view, 0), agent="b"))
        assert not receipt.accepted
        assert "in conversation 'log' of its batch, which is a's alone" in receipt.message


async def test_a_message_to_it_goes_to_its_agent_behind_what_waits(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [LOG]))
        to = f"c{conversation(here, 0)}"
        sent = await here.deck.submit(Send(to=to, text="hello", on_busy=OnBusy.QUEUE))
        assert (sent.accepted, sent.state) == (True, TurnState.QUEUED), sent.message
        await finish(here, 0)
        await here.end(turn(here.view, 1))
        assert here.view.live == (sent.turn,)


@pytest.mark.parametrize("to", ["log", "b/log"])
async def test_a_message_finds_it_by_its_name(tmp_path: Path, to: str) -> None:
    async with bench(tmp_path) as here:
        await here.add(spec(tmp_path, 2, [LOG]))
        sent = await here.deck.submit(Send(to=to, text="hello", on_busy=OnBusy.QUEUE))
        assert sent.conversation == conversation(here, 0), sent.message
        unknown = await here.deck.submit(Send(to=f"{to}s", text="hello", on_busy=OnBusy.QUEUE))
        assert "There is no agent, conversation or task" in unknown.message


# -- a changed file


async def test_an_unbegun_item_takes_the_conversation_that_its_file_says_now(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(PutHold(what="deck"))
        await here.add(spec(tmp_path, 2, [LOG]))
        await here.add(spec(tmp_path, 2, [{**ONE, "agent": "b", "conversation": "log"}]))
        assert conversation(here, 0) == conversation(here, 1)
        await here.add(spec(tmp_path, 2, [ONE]))
        assert conversation(here, 0) != conversation(here, 1)
        await here.add(spec(tmp_path, 2, [{**LOG, "prompt": "Log {{ item.path }}"}]))
        await here.deck.submit(ReleaseHold(what="deck"))
        assert live(here.view) == [0]
        await here.puppets.until_begun(turn(here.view, 0))
        assert here.puppets.assignments[turn(here.view, 0)].prompt == "Log x0"
        changed = spec(tmp_path, 2, [{**LOG, "prompt": "Other"}])
        refused = await here.deck.submit(AddBatch(spec=changed))
        assert "item-0 has begun and is different now" in refused.message


async def test_two_batches_have_each_their_own(tmp_path: Path) -> None:
    def other(**fields: Any) -> Any:
        spec(tmp_path, 1, [LOG], **fields)
        file = tmp_path / "b.yaml"
        file.write_text(file.read_text().replace('"name": "b"', '"name": "c"'))
        return read_batch(file)

    puppets = Puppets()
    async with bench(tmp_path, puppets) as here:
        await here.add(spec(tmp_path, 1, [LOG]))
        await here.add(other())
        assert len(here.view.live) == 2
