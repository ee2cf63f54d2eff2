"""What waits can be moved, edited, merged, given to another agent or sent now; nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from batchdeck.core.commands import (
    AnswerAsk,
    Command,
    EditTurn,
    MergeTurns,
    MoveTurn,
    OnBusy,
    Receipt,
    RetargetTurn,
    Send,
    SendNow,
    SetLimit,
    StopTurn,
)
from batchdeck.core.difference import changed_turns
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.order import service_order
from batchdeck.core.rules.reordering import Where
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


async def queue_of(here: Bench, *texts: str, **fields) -> list[int]:
    """Agent `a` works on T1; messages wait behind it."""
    agents = [demo_agent("a", 1), demo_agent("other", 1)]
    await here.add(batch_spec("b", [TaskSpec("T1", "a"), TaskSpec("T2", "a")], agents))
    await here.puppets.until_begun(1)
    turns = []
    for text in texts:
        command = Send(to="a", text=text, on_busy=OnBusy.QUEUE, **fields)
        turns.append((await here.deck.submit(command)).turn)
    return turns


@pytest.mark.parametrize(
    ("where", "anchor", "expected"),
    [
        (Where.FIRST, None, [5, 3, 4, 2]),
        (Where.LAST, None, [3, 4, 2, 5]),
        (Where.UP, None, [3, 5, 4, 2]),
        (Where.BEFORE, 3, [5, 3, 4, 2]),
        (Where.AFTER, 3, [3, 5, 4, 2]),
    ],
)
async def test_a_turn_is_moved_and_the_others_keep_their_order(
    tmp_path: Path, where: Where, anchor: int | None, expected: list[int]
) -> None:
    async with bench(tmp_path) as here:
        await queue_of(here, "one", "two", "three")
        receipt = await here.deck.submit(MoveTurn(turn=5, where=where, anchor=anchor))
        assert receipt.accepted, receipt.message
        assert list(service_order(here.view)) == expected
        await here.end(1)
        assert here.view.live == (expected[0],)
    async with bench(tmp_path) as here:
        assert [t for t in service_order(here.view) if t in expected[1:]] == expected[1:]


async def test_a_move_that_would_break_a_targets_order_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        first, second = await queue_of(here, "one", "two", target="issue-1")
        receipt = await here.deck.submit(MoveTurn(turn=second, where=Where.FIRST))
        assert receipt.exit_code == 3
        words = f"#{second} goes after #{first}, which was received before it for target issue-1."
        assert receipt.message == words
        assert list(service_order(here.view)) == [first, second, 2]


async def test_a_message_to_a_queued_tasks_conversation_is_placed_behind_that_task(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        (other,) = await queue_of(here, "one")
        refused = await here.deck.submit(Send(to="#2", text="and the tests"))
        assert (refused.position, "3rd in line" in refused.message) == (3, True)
        sent = await here.deck.submit(Send(to="#2", text="and the tests", on_busy=OnBusy.QUEUE))
        assert sent.position == 3
        assert list(service_order(here.view)) == [other, 2, sent.turn]


async def test_a_message_is_not_said_to_move_ahead_of_what_came_before_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await queue_of(here, "one")
        sent = await here.deck.submit(Send(to="#2", text="more", on_busy=OnBusy.QUEUE, front=True))
        before = list(service_order(here.view))
        for where in (Where.UP, Where.FIRST):
            receipt = await here.deck.submit(MoveTurn(turn=sent.turn or 0, where=where))
            assert receipt.exit_code == 3
            assert f"#{sent.turn} goes after #2, which was received before it" in receipt.message
        assert list(service_order(here.view)) == before


async def test_what_has_started_cannot_be_operated_on(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await queue_of(here, "one")
        for command in (
            MoveTurn(turn=1, where=Where.LAST),
            EditTurn(turn=1, text="x"),
            RetargetTurn(turn=1, agent="other"),
            SendNow(turn=1),
        ):
            receipt = await here.deck.submit(command)
            assert (receipt.error, receipt.exit_code) == ("gone", 3)


async def test_an_edited_message_is_sent_as_it_is_then(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        (turn,) = await queue_of(here, "one")
        await here.deck.submit(EditTurn(turn=turn, text="better"))
        assert here.view.turns[turn].title == "better"
        await here.end(1)
        await here.puppets.until_begun(turn)
        assert here.puppets.assignments[turn].prompt == "better"
        assert here.view.turns[turn].title == "better"
        await here.end(turn)
        assert here.view.turns[turn].title == "better"


async def test_an_edited_task_gets_its_new_prompt(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await queue_of(here)
        await here.deck.submit(EditTurn(turn=2, text="do that instead"))
        await here.end(1)
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].prompt == "do that instead"


async def test_messages_are_merged_at_the_first_ones_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        first, second, third = await queue_of(here, "one", "two", "three")
        receipt = await here.deck.submit(MergeTurns(turns=(third, first)))
        assert receipt.turn == first
        assert here.view.turns[third].state is TurnState.CANCELLED
        await here.end(1)
        await here.puppets.until_begun(first)
        assert here.puppets.assignments[first].prompt == "one\n\nthree"
        assert here.view.turns[first].title == "one three"
        assert here.view.turns[second].state is TurnState.QUEUED


async def test_turns_of_tasks_are_not_merged(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        (turn,) = await queue_of(here, "one")
        receipt = await here.deck.submit(MergeTurns(turns=(2, turn)))
        assert receipt.exit_code == 2
        assert here.view.queued == 2


async def test_a_turn_is_given_to_another_agent_and_starts_where_there_is_room(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await queue_of(here)
        receipt = await here.deck.submit(RetargetTurn(turn=2, agent="other"))
        assert receipt.state is TurnState.RUNNING
        assert here.view.tasks[2].agent == "other"
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].agent.name == "other"


async def test_a_queued_turn_is_sent_now_past_what_was_shown(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        (turn,) = await queue_of(here, "one")
        receipt = await here.deck.submit(SendNow(turn=turn, by="op"))
        assert receipt.bypassed == ("agent",)
        assert here.view.live == (1, turn)
        assert here.view.forced == 1


async def test_nothing_is_sent_past_a_closed_limit(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        (turn,) = await queue_of(here, "one")
        await here.deck.submit(SetLimit(name="agent:a", value=0))
        receipt = await here.deck.submit(SendNow(turn=turn))
        assert not receipt.accepted
        assert here.view.turns[turn].state is TurnState.QUEUED


async def test_an_edited_answer_is_what_the_agent_is_told_and_its_task_keeps_its_prompt(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await queue_of(here)
        here.puppets.ask(1, "Which way?")
        await here.until(lambda view: view.asks)
        answered = await here.deck.submit(AnswerAsk(ask=1, answer="left"))
        assert answered.turn is not None
        await here.deck.submit(EditTurn(turn=answered.turn, text="right"))
        await here.end(2)
        await here.puppets.until_begun(answered.turn)
        assert here.puppets.assignments[answered.turn].prompt.endswith("right")
        messages = await here.deck.messages(here.view.turns[1].conversation)
        assert "right" not in messages[0].text, "the task's prompt is what it was"


async def test_what_is_given_to_another_agent_works_in_that_ones_folder(tmp_path: Path) -> None:
    places = [tmp_path / "fa", tmp_path / "fb"]
    for place in places:
        place.mkdir()
    agents = [
        replace(demo_agent(name, 1), folder=str(place))
        for name, place in zip("ab", places, strict=True)
    ]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a"), TaskSpec("T2", "a")], agents))
        await here.puppets.until_begun(1)
        await here.deck.submit(RetargetTurn(turn=2, agent="b"))
        await here.puppets.until_begun(2)
        assert here.puppets.assignments[2].folder == places[1]


async def test_an_agent_that_keeps_no_conversation_is_told_what_was_before_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        turns = []
        for text in ("first", "deleted", "later"):
            receipt = await here.deck.submit(Send(to="#1", text=text, on_busy=OnBusy.QUEUE))
            turns.append(receipt.turn)
        await here.deck.submit(StopTurn(turn=turns[1]))
        await here.end(1, text="done")
        first, _, later = (here.view.turns[turn] for turn in turns)
        words = [text for _, text in await here.deck._reader.said(first)]
        assert words[-1] == "done"
        assert not {"first", "deleted", "later"} & set(words)
        told = [text for _, text in await here.deck._reader.said(later)]
        assert told[-1] == "first"


async def test_an_edit_that_crosses_a_merge_is_not_lost(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        one, two = await queue_of(here, "one", "two")
        receipts: list[Receipt] = []

        async def submit(command: Command) -> None:
            receipts.append(await here.deck.submit(command))

        async with anyio.create_task_group() as both:
            both.start_soon(submit, MergeTurns(turns=(one, two)))
            both.start_soon(submit, EditTurn(turn=two, text="edited"))
        said = await here.deck.messages(here.view.turns[one].conversation)
        if all(receipt.accepted for receipt in receipts):
            assert said[-1].text == "one\n\nedited"
        again = await here.deck.submit(MergeTurns(turns=(one, two)))
        if again.accepted:
            said = await here.deck.messages(here.view.turns[one].conversation)
            assert said[-1].text == "one\n\nedited"


async def test_messages_that_go_on_in_different_conversations_are_not_merged(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        first = await here.deck.submit(Send(to="a", text="hello", on_busy=OnBusy.QUEUE))
        await here.end(1)
        await here.end(first.turn, session="s-1")
        await here.puppets.until_begun(first.turn)
        await here.deck.submit(SetLimit(name="agent:a", value=0))
        goes_on = await here.deck.submit(
            Send(to=f"c{first.conversation}", text="more", on_busy=OnBusy.QUEUE)
        )
        anew = await here.deck.submit(Send(to="a", text="new", on_busy=OnBusy.QUEUE))
        refused = await here.deck.submit(MergeTurns(turns=(goes_on.turn, anew.turn)))
        assert "different conversations" in refused.message


@pytest.mark.parametrize("where", [Where.DOWN, Where.LAST])
async def test_a_target_keeps_its_order_among_the_queues_of_several_agents(
    tmp_path: Path, where: Where
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        tasks = [
            TaskSpec("T1", "a", target="t"),
            TaskSpec("T2", "b", target="t"),
            TaskSpec("T3", "a"),
        ]
        await here.add(batch_spec("b", tasks, [demo_agent("a"), demo_agent("b")]))
        refused = await here.deck.submit(MoveTurn(turn=1, where=where))
        assert not refused.accepted
        assert "#2 was received after #1 for target t" in refused.message
        assert [here.view.turns[turn].position for turn in (1, 2, 3)] == [1, 2, 3]


async def test_whoever_shows_the_text_of_a_turn_is_told_that_it_was_edited(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        before = here.view
        await here.deck.submit(EditTurn(turn=1, text="another prompt"))
        assert 1 in changed_turns(before, here.view)
        assert here.view.turns[1] is not before.turns[1]
        assert here.view.turns[1].title == before.turns[1].title
