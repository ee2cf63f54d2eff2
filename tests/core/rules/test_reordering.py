"""A queue is moved by what was asked for and nothing else, and never past a line's own order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchdeck.core.errors import Refused
from batchdeck.core.model.turn import Turn
from batchdeck.core.rules.order import service_order
from batchdeck.core.rules.reordering import Where, reordered
from batchdeck.core.view import DeckView
from tests.support.builders import NOW, StateBuilder


def a_queue() -> tuple[StateBuilder, DeckView]:
    """Two turns of a target, one of none, and a message that overtakes them: #4, #1, #2, #3."""
    build = StateBuilder(limit=1)
    build.agent("a", 1)
    build.turn("a", target="iss")
    build.turn("a", target="iss")
    build.turn("a")
    build.turn("a", priority=100)
    return build, build.state.publish(NOW)


def moved(view: DeckView, turn: int, where: Where, anchor: int | None = None) -> DeckView:
    named = None if anchor is None else view.turns[anchor]
    changed = reordered(view, view.turns[turn], where, named)
    turns = {**view.turns, **{other.id: other for other in changed}}
    lines = {
        line: tuple(sorted(members, key=lambda m: (turns[m].position, m)))
        for line, members in view.in_order.items()
    }
    return replace(view, turns=turns, in_order=lines)


@pytest.mark.parametrize(
    ("turn", "where", "anchor", "expected"),
    [
        (1, Where.UP, None, (1, 4, 2, 3)),
        (1, Where.BEFORE, 4, (1, 4, 2, 3)),
        (3, Where.FIRST, None, (3, 4, 1, 2)),
        (3, Where.BEFORE, 1, (4, 3, 1, 2)),
        (4, Where.FIRST, None, (4, 1, 2, 3)),
        (4, Where.LAST, None, (1, 2, 3, 4)),
        (4, Where.AFTER, 1, (1, 4, 2, 3)),
        (2, Where.DOWN, None, (4, 1, 3, 2)),
    ],
)
def test_what_breaks_no_order_goes_where_it_is_sent(
    turn: int, where: Where, anchor: int | None, expected: tuple[int, ...]
) -> None:
    _, view = a_queue()
    assert service_order(view) == (4, 1, 2, 3)
    assert service_order(moved(view, turn, where, anchor)) == expected


@pytest.mark.parametrize(
    ("turn", "where", "words"),
    [
        (2, Where.UP, "#2 goes after #1, which was received before it for target iss."),
        (2, Where.FIRST, "#2 goes after #1, which was received before it for target iss."),
        (1, Where.DOWN, "#2 was received after #1 for target iss, and would have to wait for it."),
        (1, Where.LAST, "#2 was received after #1 for target iss, and would have to wait for it."),
    ],
)
def test_a_line_keeps_its_order_and_the_refusal_names_who_stands_in_it(
    turn: int, where: Where, words: str
) -> None:
    _, view = a_queue()
    with pytest.raises(Refused) as refused:
        reordered(view, view.turns[turn], where)
    assert refused.value.message == words


def test_a_move_and_the_one_back_leave_no_priority_behind() -> None:
    _, view = a_queue()
    there = moved(view, 3, Where.FIRST)
    assert there.turns[3].priority == 100
    back = moved(there, 3, Where.LAST)
    assert service_order(back) == (4, 1, 2, 3)
    assert back.turns[3].priority == 0


def test_what_waits_for_a_turn_in_its_line_goes_with_it() -> None:
    build, _ = a_queue()
    reply = build.turn("a", conversation=build.state.turns[3].conversation, priority=100)
    view = build.state.publish(NOW)
    assert service_order(view) == (4, 1, 2, 3, reply.id)
    assert service_order(moved(view, 3, Where.UP)) == (4, 1, 3, reply.id, 2)
    assert service_order(moved(view, 2, Where.AFTER, reply.id)) == (4, 1, 3, reply.id, 2)


queued = st.tuples(
    st.sampled_from(["a", "a", "a", "b"]),
    st.sampled_from([0, 0, 0, 5, 100]),
    st.sampled_from([None, None, "t", "u"]),
    st.integers(1, 5),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(queued, min_size=2, max_size=9), st.data())
def test_whatever_is_moved_the_others_and_all_lines_keep_their_order(
    rows: list[tuple[str, int, str | None, int]], data: st.DataObject
) -> None:
    build = StateBuilder(limit=1)
    for agent in "ab":
        build.agent(agent, 1)
    for agent, priority, target, conversation in rows:
        build.turn(agent, priority=priority, target=target, conversation=conversation)
    view = build.state.publish(NOW)
    turn = view.turns[data.draw(st.sampled_from(sorted(view.turns)))]
    where = data.draw(st.sampled_from(list(Where)))
    same = [other.id for other in view.turns.values() if other.agent == turn.agent]
    anchor = data.draw(st.sampled_from(same))
    try:
        after = moved(view, turn.id, where, anchor)
    except Refused:
        return
    assert after.in_order == view.in_order
    mine = {other.id for other in view.turns.values() if other.agent == turn.agent}
    rides = {other for other in mine if is_behind(view, turn, view.turns[other])}
    left = [other for other in service_order(view) if other in mine - rides - {turn.id}]
    assert [other for other in service_order(after) if other in set(left)] == left
    order = [other for other in service_order(after) if other in mine]
    if where is Where.FIRST:
        assert order[0] == turn.id
    if where is Where.BEFORE and anchor not in rides | {turn.id}:
        assert order.index(turn.id) < order.index(anchor)


def is_behind(view: DeckView, turn: Turn, other: Turn) -> bool:
    """Whether one stands after a turn in some line, through others or not."""
    found, grown = {turn.id}, True
    while grown:
        more = {
            member
            for members in view.in_order.values()
            for at, member in enumerate(members)
            if found & set(members[:at])
        }
        grown = not more <= found
        found |= more
    return other.id in found - {turn.id}
