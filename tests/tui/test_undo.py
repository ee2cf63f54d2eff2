"""A change is taken back by one key; nothing that had an effect outside is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from batchdeck.core.commands import (
    BlockTask,
    Command,
    MoveTurn,
    OnBusy,
    PutHold,
    Receipt,
    ReleaseHold,
    RetryTask,
    Send,
    SetLimit,
    SetStatus,
    StopTurn,
)
from batchdeck.core.model.batch import BatchState, OnError
from batchdeck.core.model.blocker import BlockerState
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from batchdeck.core.rules.reordering import Where
from batchdeck.tui.undoing import UndoStack, undo_of
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench
from tests.support.screen import until, until_shown
from tests.support.stub_deck import StubDeck, agent, turn, view_of
from tests.tui.examples import busy_view, shown

VIEW = busy_view()


def taken_back(command: Command, text: str | None = None) -> Command | None:
    undo = undo_of(command, VIEW, text)
    return None if undo is None else undo.commands[0]


def test_a_limit_gets_its_number_back_and_a_raise_says_that_nothing_is_stopped() -> None:
    undo = undo_of(SetLimit(name="agent:coder", value=5), VIEW)
    assert undo is not None
    (back,) = undo.commands
    assert isinstance(back, SetLimit)
    assert back.value == 2
    started = turn(900, TurnState.RUNNING)
    since = replace(VIEW, turns={**VIEW.turns, 900: started}, live=(*VIEW.live, 900))
    assert undo.words_now(since) == "agent coder is 2 again; what has started since runs on"
    assert undo.words_now(VIEW) == "agent coder is 2 again", "nothing has started since"
    elsewhere = {**VIEW.turns, 900: replace(started, agent="writer")}
    assert undo.words_now(replace(since, turns=elsewhere)) == "agent coder is 2 again"
    lowered = undo_of(SetLimit(name="agent:coder", value=0), VIEW)
    assert lowered is not None
    assert lowered.words_now(since) == "agent coder is 2 again"


@pytest.mark.parametrize("explicit", [True, False])
def test_a_limit_counts_as_set_by_a_person_only_if_it_did_before(explicit: bool) -> None:
    limits = {"global": Limit("global", 4, explicit=explicit)}
    undo = undo_of(SetLimit(name="global", value=9), replace(VIEW, limits=limits))
    assert undo is not None
    (back,) = undo.commands
    assert isinstance(back, SetLimit)
    assert back.explicit is explicit


@pytest.mark.anyio
async def test_a_deck_limit_that_was_set_and_taken_back_was_set_by_nobody(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        tasks = [TaskSpec(f"T{n}", "a") for n in range(9)]
        wanted = batch_spec("b", tasks, [demo_agent("a", 9)], limits={"batch:b": 7})
        raised = SetLimit(name="global", value=9)
        back = undo_of(raised, here.view)
        assert back is not None
        for command in (raised, *back.commands):
            assert (await here.deck.submit(command)).accepted
        await here.add(wanted)
        assert here.view.running == 7


def test_of_two_quick_changes_the_second_is_taken_back_to_the_first() -> None:
    # the view does not show the first one yet
    second = SetLimit(name="agent:coder", value=4)
    undo = undo_of(second, VIEW, receipt=Receipt(accepted=True, before=3))
    assert undo is not None
    assert undo.commands[0] == replace(second, id=undo.commands[0].id, value=3, origin="undo")
    assert undo.words.startswith("agent coder is 3 again")
    assert undo.overtaken({"agent:coder": 4}.get) is None


def test_a_limit_that_had_none_has_none_again() -> None:
    back = taken_back(SetLimit(name="status:docs/FAILED", value=1))
    assert isinstance(back, SetLimit)
    assert back.value is None


def test_holds_are_released_and_put_again() -> None:
    released = taken_back(PutHold(what="turn:431"))
    assert isinstance(released, ReleaseHold)
    assert released.what == "turn:431"
    assert isinstance(taken_back(ReleaseHold(what="turn:433")), PutHold)


def test_a_folder_that_was_released_is_held_again_by_its_path() -> None:
    hold = Hold("folder:1:2/x", "op", "not now", path="/repo/x")
    undo = undo_of(ReleaseHold(what="folder:/repo/x"), view_of(holds={hold.what: hold}))
    assert undo is not None
    (put,) = undo.commands
    assert isinstance(put, PutHold)
    assert (put.what, put.reason) == ("folder:/repo/x", "not now")
    assert undo_of(ReleaseHold(what="folder:/repo/y"), view_of()) is None


def test_a_moved_turn_goes_back_before_the_one_it_stood_before() -> None:
    back = taken_back(MoveTurn(turn=431, where=Where.DOWN))
    assert isinstance(back, MoveTurn)
    assert (back.where, back.anchor) == (Where.BEFORE, 433)
    last = taken_back(MoveTurn(turn=435, where=Where.UP))
    assert isinstance(last, MoveTurn)
    assert last.where is Where.LAST


def test_a_deleted_message_is_sent_again_and_a_task_queued_again() -> None:
    said = turn(9, trigger=Trigger.CHAT, task=None, batch=None, priority=100)
    undo = undo_of(StopTurn(turn=9), view_of([said]), "hello")
    assert undo is not None
    (again,) = undo.commands
    assert isinstance(again, Send)
    assert (again.to, again.text, again.priority) == ("c9", "hello", 100)
    assert undo.words == "the message of #9 is sent again, at the end"
    assert isinstance(taken_back(StopTurn(turn=431)), RetryTask)


@pytest.mark.anyio
async def test_what_was_held_is_held_when_its_deletion_is_taken_back(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        tasks = [TaskSpec(f"T{n}", "a") for n in (1, 2)]
        await here.add(batch_spec("b", tasks, [demo_agent("a", 9)]))
        await here.deck.submit(PutHold(what="turn:1", by="op"))
        await here.deck.submit(Send(to="a", text="one", on_busy=OnBusy.QUEUE, held=True))
        await here.deck.submit(Send(to="a", text="two", unauthorised=True))
        waiting = {1: "task", 3: "one", 4: "two"}
        undos = []
        for number, text in waiting.items():
            stop = StopTurn(turn=number)
            undos.append(undo_of(stop, here.view, text))
            assert (await here.deck.submit(stop)).accepted
        await here.deck.submit(SetLimit(name="global", value=9))
        assert here.view.live == (2,)
        for undo in undos:
            assert undo is not None
            assert undo.words.endswith("held as it was")
            for command in undo.commands:
                assert (await here.deck.submit(command)).accepted
        assert here.view.live == (2,), "nothing starts by itself"
        again = [t for t in here.view.turns.values() if t.state is TurnState.QUEUED]
        assert [(t.held_by, t.authorised) for t in again] == [
            ("operator", True),
            ("operator", True),
            (None, False),
        ]
        for turn in again:
            assert (await here.deck.submit(ReleaseHold(what=f"turn:{turn.id}"))).accepted
        assert here.view.running == 4


async def cancelled_and_taken_back(here: Bench, number: int) -> None:
    """Cancels a queued turn, and takes that back as the screen does."""
    cancel = StopTurn(turn=number)
    undo = undo_of(cancel, here.view)
    assert undo is not None
    assert undo.words.endswith("is queued again")
    for command in (cancel, *undo.commands):
        receipt = await here.deck.submit(command)
        assert receipt.accepted, receipt.message


@pytest.mark.anyio
@pytest.mark.parametrize("on_error", list(OnError))
async def test_a_cancelled_task_and_what_needs_it_are_what_they_were(
    tmp_path: Path, on_error: OnError
) -> None:
    tasks = [
        TaskSpec("T1", "a"),
        TaskSpec("T2", "a", depends_on=("T1",)),
        TaskSpec("T3", "a", depends_on=("T2",)),
        TaskSpec("T4", "a", depends_on=("T1",)),
        TaskSpec("T5", "a"),
    ]
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(replace(batch_spec("b", tasks, [demo_agent("a", 9)]), on_error=on_error))
        await here.deck.submit(SetStatus(task="T3", status=Status.BACKLOG))
        await here.deck.submit(BlockTask(task="T4", question="which way?"))
        before = here.view
        await cancelled_and_taken_back(here, 1)
        view = here.view
        assert {task.key: task.status for task in view.tasks.values()} == {
            task.key: task.status for task in before.tasks.values()
        }
        assert all(task.error is None for task in view.tasks.values())
        assert all(task.because is None for task in view.tasks.values())
        assert [b.question for b in view.blockers.values() if b.state is BlockerState.OPEN] == [
            "which way?"
        ]
        queued = [view.turns[task.turn] for task in view.tasks.values()]
        keep = [(t.state, t.lane, t.depends_on, t.blocked, t.trigger) for t in queued]
        assert keep == [
            (t.state, t.lane, t.depends_on, t.blocked, t.trigger)
            for t in (before.turns[task.turn] for task in before.tasks.values())
        ]
        assert view.batches["b"].state is BatchState.RUNNING
        assert not view.batches["b"].stopped_admitting


@pytest.mark.anyio
async def test_a_blocked_task_that_was_cancelled_is_blocked_by_the_same_question_again(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.deck.submit(SetLimit(name="global", value=0))
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 9)]))
        await here.deck.submit(BlockTask(task="T1", question="which way?"))
        await here.deck.submit(SetLimit(name="global", value=9))
        await cancelled_and_taken_back(here, 1)
        view = here.view
        assert (view.tasks[1].status, view.running) == (Status.BLOCKED, 0)
        (blocker,) = (b for b in view.blockers.values() if b.state is BlockerState.OPEN)
        assert blocker.question == "which way?"


@pytest.mark.anyio
async def test_a_cancelled_retry_is_queued_again_and_counts_on(tmp_path: Path) -> None:
    tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a", depends_on=("T1",))]
    async with bench(tmp_path) as here:
        await here.add(replace(batch_spec("b", tasks, [demo_agent("a", 9)]), max_attempts=3))
        await here.end(1, TurnState.FAILED)
        await here.deck.submit(SetLimit(name="global", value=0))
        retry = here.view.tasks[1].turn
        await cancelled_and_taken_back(here, retry)
        first, second = here.view.tasks[1], here.view.tasks[2]
        assert (first.status, first.attempts, first.because) == (Status.FAILED, 1, None)
        assert here.view.turns[first.turn].lane is Status.FAILED
        assert second.status is Status.READY
        assert here.view.turns[second.turn].depends_on == (1,)


def test_what_had_an_effect_outside_is_not_taken_back() -> None:
    assert taken_back(StopTurn(turn=412)) is None
    assert taken_back(Send(to="coder", text="hello")) is None
    assert taken_back(RetryTask(task="docs/T-402")) is None


def test_twenty_changes_are_kept_and_many_at_once_are_one() -> None:
    stack = UndoStack()
    for number in range(30):
        undo = undo_of(SetLimit(name="agent:coder", value=number), VIEW)
        assert undo is not None
        stack.note([undo, undo])
    popped = [stack.pop() for _ in range(21)]
    assert popped[-1] is None
    assert popped[0] is not None
    assert len(popped[0].commands) == 2
    assert popped[0].words.endswith("and 1 more")


@pytest.mark.anyio
async def test_a_limit_that_somebody_else_has_changed_since_is_not_taken_back() -> None:
    deck = StubDeck(busy_view(), lambda command: Receipt(accepted=True, before=2))
    async with shown(deck) as (_app, pilot):
        await pilot.press("shift+tab", "plus", "enter")
        await until_shown(pilot, "agent coder: 2 → 3")
        closed = replace(deck.view.limits["agent:coder"], value=0, changed_by="eve")
        deck.publish(replace(deck.view, limits={**deck.view.limits, "agent:coder": closed}))
        await until_shown(pilot, "closed")
        await pilot.press("u")
        await until_shown(pilot, "undo: agent coder is 0 (closed) by now: eve changed it; nothing")
        assert len(deck.commands) == 1


@pytest.mark.anyio
async def test_u_takes_back_the_latest_change_and_says_which() -> None:
    deck = StubDeck(busy_view(), lambda command: Receipt(accepted=True, before=2))
    async with shown(deck) as (_app, pilot):
        await pilot.press("u")
        await until_shown(pilot, "undo: there is nothing to take back")
        await pilot.press("shift+tab", "plus", "enter")
        await until_shown(pilot, "agent coder: 2 → 3")
        await pilot.press("h")
        await until_shown(pilot, "agent coder is held")
        await pilot.press("u")
        await until_shown(pilot, "undone: agent coder is released")
        await pilot.press("u")
        await until_shown(pilot, "undone: agent coder is 2 again")
        await until(pilot, lambda: len(deck.commands) == 4)
        await pilot.press("u")
        await until_shown(pilot, "there is nothing to take back")


@pytest.mark.anyio
async def test_of_several_changes_taken_back_a_refusal_is_told() -> None:
    def answer(command: Command) -> Receipt:
        if isinstance(command, ReleaseHold) and command.what == "turn:3":
            return Receipt(accepted=False, error="gone", message="#3 has ended")
        return Receipt(accepted=True)

    deck = StubDeck(view_of([turn(n) for n in (1, 2, 3)], [], [agent()]), answer)
    async with shown(deck) as (_, pilot):
        await pilot.press("V", "h")
        await until_shown(pilot, "3 turns are held")
        await pilot.press("u")
        await until_shown(pilot, "2 of 3 changes taken back")
        await until_shown(pilot, "#3 has ended")
        released = [c.what for c in deck.commands if isinstance(c, ReleaseHold)]
        assert released == ["turn:3", "turn:2", "turn:1"], "the last one done is the first"
