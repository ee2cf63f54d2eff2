"""What a message would wait for, told before anything is stored."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from batchdeck.core.model.gate import GateName
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from batchdeck.core.rules.consequences import message_turn, would_wait
from batchdeck.core.rules.order import key_of, keys_behind
from batchdeck.core.rules.plan import starts
from batchdeck.core.view import DeckView
from tests.core.rules.decks import AGENTS, decks
from tests.support.builders import NOW, StateBuilder, folder


def deck(limit: int = 4) -> StateBuilder:
    build = StateBuilder(limit)
    build.agent("a", 1)
    build.agent("b", 2)
    build.batch("docs")
    return build


def view_of(build: StateBuilder) -> DeckView:
    return build.state.publish(NOW)


def test_a_free_agent_would_start_at_once() -> None:
    view = view_of(deck())
    answer = would_wait(view, message_turn(view, "a"), NOW)
    assert answer.free
    assert (answer.gates, answer.position, answer.behind, answer.holders) == ((), 1, 0, ())
    assert not answer.passable


def test_a_busy_agent_names_its_holders_and_the_place_in_the_queue() -> None:
    build = deck()
    running = build.running("a")
    build.turn("a")
    build.turn("a", priority=100)
    view = view_of(build)
    answer = would_wait(view, message_turn(view, "a"), NOW)
    assert [gate.name for gate in answer.gates] == [GateName.AGENT]
    assert [holder.turn for holder in answer.holders] == [running.id]
    assert (answer.position, answer.behind) == (2, 1), "behind the other message, before the task"
    assert answer.passable


def test_a_message_waits_behind_a_message_of_its_conversation_even_where_slots_are_free() -> None:
    build = deck()
    earlier = build.turn("b", conversation=5)
    view = view_of(build)
    answer = would_wait(view, message_turn(view, "b", conversation=5), NOW)
    assert [gate.name for gate in answer.gates] == [GateName.CONVERSATION]
    assert [holder.turn for holder in answer.holders] == [earlier.id]
    assert not answer.passable


def test_a_message_waits_for_its_target_even_where_the_view_has_only_one_of_it() -> None:
    build = deck()
    build.running("b", target="issue-1")
    view = view_of(build)
    assert not view.in_order
    answer = would_wait(view, message_turn(view, "b", target="issue-1"), NOW)
    assert [gate.name for gate in answer.gates] == [GateName.TARGET]


def test_a_reply_works_in_the_folder_of_its_conversation() -> None:
    build = deck()
    build.turn("b", conversation=5, folder=folder("/repo"), state=TurnState.SUCCEEDED, ended_ms=NOW)
    build.running("a", folder=folder("/repo/docs"))
    view = view_of(build)
    turn = message_turn(view, "b", conversation=5)
    assert turn.trigger is Trigger.REPLY
    answer = would_wait(view, turn, NOW)
    assert [gate.name for gate in answer.gates] == [GateName.FOLDER]
    assert not answer.passable


def test_a_message_to_a_tasks_conversation_has_its_batch_and_the_tasks_status_as_lane() -> None:
    build = deck()
    task = build.task("docs", "b", Status.IN_PROGRESS)
    build.limit("status:docs/IN_PROGRESS", 0)
    view = view_of(build)
    turn = message_turn(view, "b", conversation=task.conversation, task=task.id)
    assert (turn.batch, turn.lane, turn.trigger) == ("docs", Status.IN_PROGRESS, Trigger.CHAT)
    (gate,) = would_wait(view, turn, NOW).gates
    assert (gate.name, gate.passable) == (GateName.STATUS, False)


def test_a_message_has_priority_over_tasks_unless_another_is_given() -> None:
    view = view_of(deck())
    assert message_turn(view, "a").priority == 100
    assert message_turn(view, "a", priority=0).priority == 0


def test_one_gate_that_cannot_be_passed_keeps_all_from_being_forced() -> None:
    build = deck()
    build.running("a", folder=folder("/repo"))
    build.turn("a", conversation=5, folder=folder("/repo"), state=TurnState.SUCCEEDED, ended_ms=1)
    view = view_of(build)
    answer = would_wait(view, message_turn(view, "a", conversation=5), NOW)
    assert [gate.name for gate in answer.gates] == [GateName.AGENT, GateName.FOLDER]
    assert not answer.passable
    assert len(answer.holders) == 1, "a turn that holds two gates is named once"


@settings(max_examples=80, deadline=None)
@given(decks(), st.sampled_from(AGENTS))
def test_weighing_a_message_changes_nothing_and_its_place_is_behind_its_equals(
    view: DeckView, agent: str
) -> None:
    before = (starts(view, NOW), dict(view.in_order))
    answer = would_wait(view, message_turn(view, agent), NOW)
    assert (starts(view, NOW), dict(view.in_order)) == before
    queued = [
        turn
        for turn in view.turns.values()
        if turn.state is TurnState.QUEUED and turn.agent == agent
    ]
    assert answer.position + answer.behind == len(queued) + 1
    behind = keys_behind(view)
    assert answer.position == 1 + sum(key_of(turn, behind)[0] <= -100 for turn in queued)
