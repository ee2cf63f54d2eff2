"""The plan: what one sweep would start, in the order of service, and never past a limit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from batchdeck.core.model.account import account_of
from batchdeck.core.model.limit import GLOBAL, Limit
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import LIVE, Turn, TurnState
from batchdeck.core.rules.consequences import message_turn, would_wait
from batchdeck.core.rules.folders import overlaps
from batchdeck.core.rules.gates import evaluate, shut
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.rules.order import ordinal, place, service_order
from batchdeck.core.rules.plan import plan, starts, with_limits
from batchdeck.core.rules.standing import limit_names
from batchdeck.core.view import DeckView
from tests.core.rules.decks import decks
from tests.support.builders import NOW, StateBuilder, folder


def starts_of(build: StateBuilder) -> list[int]:
    return list(starts(build.state.snapshot(NOW), NOW))


def wide(limit: int = 30) -> StateBuilder:
    build = StateBuilder(limit)
    build.agent("a", 10)
    build.agent("b", 10)
    build.batch("docs")
    return build


# -- order


def test_turns_are_served_by_priority_then_position_then_id() -> None:
    build = wide()
    late = build.turn("a", position=9)
    twin = build.turn("a", position=5)
    same = build.turn("a", position=5)
    urgent = build.turn("a", position=99, priority=1)
    assert starts_of(build) == [urgent.id, twin.id, same.id, late.id]


def test_a_turn_that_was_put_back_keeps_its_place() -> None:
    build = wide(limit=1)
    first = build.running("a")
    build.turn("a")
    build.change(first, state=TurnState.QUEUED, started_ms=None)
    assert starts_of(build) == [first.id]


def test_a_message_overtakes_tasks_and_stops_none() -> None:
    build = wide(limit=2)
    running = build.running("a")
    build.turn("a")
    message = build.turn("a", priority=100)
    assert starts_of(build) == [message.id]
    assert running.id in build.state.live


def test_a_turns_place_counts_its_own_agents_queue() -> None:
    build = wide()
    first, other = build.turn("a"), build.turn("b")
    second = build.turn("a")
    view = build.state.snapshot(NOW)
    assert [place(turn, view) for turn in (first, other, second)] == [1, 1, 2]


def test_a_message_to_a_conversation_comes_after_the_turns_received_before_it() -> None:
    build = wide()
    first = build.turn("a", conversation=7)
    others = [build.turn("a"), build.turn("a")]
    message = build.turn("a", conversation=7, priority=100)
    elsewhere = build.turn("a", priority=100)
    view = build.state.snapshot(NOW)
    in_order = [elsewhere, first, message, *others]
    assert service_order(view) == tuple(turn.id for turn in in_order)
    assert [place(turn, view) for turn in in_order] == [1, 2, 3, 4, 5]


def test_a_message_that_is_not_stored_yet_gets_the_place_that_it_will_have() -> None:
    build = wide(limit=1)
    build.running("b")
    build.turn("a")
    build.turn("a", conversation=7)
    build.turn("a")
    view = build.state.snapshot(NOW)
    asked = would_wait(view, message_turn(view, "a", conversation=7), NOW)
    stored = build.turn("a", conversation=7, priority=100)
    assert asked.position == place(stored, build.state.snapshot(NOW)) == 3
    assert asked.behind == 1


queued = st.tuples(
    st.sampled_from([0, 0, 5, 50, 100]),
    st.sampled_from([None, None, "t", "u", "v"]),
    st.integers(1, 6),
    st.integers(1, 9),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(queued, max_size=14))
def test_a_deck_of_one_slot_serves_in_the_order_of_service(
    rows: list[tuple[int, str | None, int, int]],
) -> None:
    build = wide(limit=1)
    for priority, target, conversation, position in rows:
        build.turn(
            "a", priority=priority, target=target, conversation=conversation, position=position
        )
    view = build.state.snapshot(NOW)
    said, served = service_order(view), []
    places = [place(view.turns[turn], view) for turn in said]
    while found := starts_of(build):
        served += found
        build.change(build.state.turns[found[0]], state=TurnState.CANCELLED, ended_ms=NOW)
    assert tuple(served) == said
    assert places == list(range(1, len(rows) + 1))


def test_places_are_said_as_people_say_them() -> None:
    said = {
        1: "1st",
        2: "2nd",
        3: "3rd",
        4: "4th",
        11: "11th",
        12: "12th",
        21: "21st",
        113: "113th",
    }
    assert {number: ordinal(number) for number in said} == said


# -- the scan


def test_the_scan_goes_past_every_gate_that_is_not_shared_by_all_behind() -> None:
    build = wide()
    build.agent("full", 0)
    build.limit("status:docs/READY", 0)
    build.batch("closed", 0)
    build.running("b", folder=folder("/repo"), target="t", conversation=7)
    held_up = [
        build.turn("a", held_by="op"),
        build.turn("full"),
        build.turn("a", folder=folder("/repo/docs")),
        build.turn("a", target="t"),
        build.turn("a", conversation=7),
        build.turn("a", batch="docs", lane=Status.READY),
        build.turn("a", batch="closed", lane=Status.READY),
        build.turn("a", not_before_ms=NOW + 1),
        build.turn("a", blocked=True),
    ]
    behind = build.turn("a")
    assert starts_of(build) == [behind.id]
    waits = [waiter.turn for waiter in plan(build.state.snapshot(NOW), NOW).waits]
    assert waits == [turn.id for turn in held_up]


def test_a_turn_takes_all_its_slots_or_none() -> None:
    build = wide()
    build.limit("batch:docs", 1)
    build.agent("full", 0)
    build.turn("full", batch="docs", lane=Status.READY)
    behind = build.turn("a", batch="docs", lane=Status.READY)
    assert starts_of(build) == [behind.id]


def test_a_held_or_draining_deck_starts_nothing() -> None:
    from batchdeck.core.model.hold import Hold

    build = wide()
    build.turn("a")
    view = build.state.snapshot(NOW)
    assert starts(replace(view, draining=True), NOW) == ()
    assert starts(replace(view, holds={"deck": Hold("deck", "op")}), NOW) == ()


def test_what_would_start_first_is_in_the_way_of_what_comes_behind() -> None:
    build = wide()
    first = build.turn("a", folder=folder("/repo"))
    inside = build.turn("b", folder=folder("/repo/docs"))
    found = plan(build.state.snapshot(NOW), NOW)
    assert found.starts == (first.id,)
    (waiter,) = found.waits
    assert waiter.turn == inside.id
    assert [holder.turn for holder in waiter.gates[0].holders] == [first.id]


# -- slots of a candidate (mixed limits)


def test_a_deck_full_of_other_work_admits_nothing_even_one() -> None:
    build = wide(limit=2)
    for _ in range(10):
        build.running("a")
    build.turn("b")
    assert starts_of(build) == []


def test_the_deck_bounds_what_the_statuses_add_up_to() -> None:
    build = wide(limit=4)
    build.limit("status:docs/READY", 3)
    build.limit("status:docs/IN_PROGRESS", 2)
    for lane in (Status.READY, Status.IN_PROGRESS):
        for _ in range(5):
            build.turn("a", batch="docs", lane=lane)
    assert len(starts_of(build)) == 4


def test_one_closed_status_does_not_throttle_the_other() -> None:
    build = wide(limit=20)
    build.limit("status:docs/READY", 10)
    build.limit("status:docs/IN_PROGRESS", 1)
    for lane in (Status.IN_PROGRESS, *[Status.READY] * 10, Status.IN_PROGRESS):
        build.turn("a" if lane is Status.READY else "b", batch="docs", lane=lane)
    lanes = Counter(build.state.turns[turn].lane for turn in starts_of(build))
    assert lanes == {Status.READY: 10, Status.IN_PROGRESS: 1}


def test_statuses_without_a_limit_fall_back_to_the_batch_and_the_deck() -> None:
    build = wide(limit=3)
    for _ in range(5):
        build.turn("a", batch="docs", lane=Status.READY)
    assert len(starts_of(build)) == 3
    build.limit("batch:docs", 2)
    assert len(starts_of(build)) == 2


# -- properties


def applied(view: DeckView, started: tuple[int, ...]) -> DeckView:
    """The deck once the plan has been carried out."""
    turns = dict(view.turns)
    counts = dict(view.running_by)
    for turn in started:
        turns[turn] = replace(turns[turn], state=TurnState.RUNNING, started_ms=NOW)
        for name in limit_names(turns[turn]):
            counts[name] = counts.get(name, 0) + 1
    cooldowns = dict(view.cooldowns)
    for turn in started:
        account = account_of(view.agents[turns[turn].agent])
        if account in cooldowns:
            cooldowns[account] = replace(cooldowns[account], probe=turn)
    live = (*view.live, *started)
    return replace(
        view,
        turns=turns,
        live=live,
        running=len(live),
        running_by=counts,
        cooldowns=cooldowns,
    )


@settings(max_examples=120, deadline=None)
@given(decks())
def test_a_plan_takes_no_limit_past_its_number(view: DeckView) -> None:
    after = applied(view, starts(view, NOW))
    for name, used in after.running_by.items():
        limit = effective_limit(view, name)
        before = view.running_by.get(name, 0)
        assert limit is None or used <= max(limit, before), name


@settings(max_examples=120, deadline=None)
@given(decks())
def test_a_plan_lets_nothing_overlap_in_a_folder_or_an_order(view: DeckView) -> None:
    started = starts(view, NOW)
    after = applied(view, started)
    live = [after.turns[turn] for turn in (*after.live, *after.waiting_turns)]
    for turn in (after.turns[number] for number in started):
        assert not any(_meets(turn, other) for other in live if other.id != turn.id)


def _meets(turn: Turn, other: Turn) -> bool:
    if turn.folder and other.folder and overlaps(turn.folder, other.folder):
        return True
    return turn.conversation == other.conversation or (
        turn.target is not None and turn.target == other.target
    )


@settings(max_examples=120, deadline=None)
@given(decks())
def test_after_a_plan_nothing_that_waits_could_have_started(view: DeckView) -> None:
    found = plan(view, NOW)
    after = applied(view, found.starts)
    for waiter in found.waits:
        gates = shut(evaluate(view.turns[waiter.turn], after, NOW))
        assert gates
        assert [gate.name for gate in gates] == [gate.name for gate in waiter.gates]


@settings(max_examples=120, deadline=None)
@given(decks())
def test_a_plan_serves_in_order_and_tells_of_every_queued_turn_once(view: DeckView) -> None:
    found = plan(view, NOW)
    order = service_order(view)
    assert list(found.starts) == [turn for turn in order if turn in set(found.starts)]
    told = [*found.starts, *(waiter.turn for waiter in found.waits)]
    assert sorted(told) == sorted(order)


@settings(max_examples=120, deadline=None)
@given(decks(), st.integers(0, 3))
def test_lowered_limits_admit_nothing_that_was_not_admitted_before(
    view: DeckView, number: int
) -> None:
    lowered = with_limits(view, {name: min(number, _number(view, name)) for name in view.limits})
    after = applied(lowered, starts(lowered, NOW))
    for name, used in after.running_by.items():
        limit = effective_limit(lowered, name)
        assert limit is None or used <= max(limit, view.running_by.get(name, 0))


def _number(view: DeckView, name: str) -> int:
    value = view.limits[name].value
    return 99 if value is None else value


@settings(max_examples=80, deadline=None)
@given(decks())
def test_a_deck_closed_at_zero_starts_nothing(view: DeckView) -> None:
    assert starts(with_limits(view, {GLOBAL: 0}), NOW) == ()


@settings(max_examples=80, deadline=None)
@given(decks())
def test_a_plan_carried_out_leaves_nothing_more_to_start(view: DeckView) -> None:
    assert starts(applied(view, starts(view, NOW)), NOW) == ()


# -- what if


def test_a_plan_under_other_limits_changes_nothing_here() -> None:
    build = wide()
    build.agent("a", 1)
    first, second = build.turn("a"), build.turn("a")
    view = build.state.publish(NOW)
    assert starts(view, NOW) == (first.id,)
    assert starts(with_limits(view, {"agent:a": 2}), NOW) == (first.id, second.id)
    assert view.limits["agent:a"] == Limit("agent:a", 1)


def test_what_runs_is_never_planned_again() -> None:
    build = wide()
    running = build.running("a")
    assert running.state in LIVE
    assert starts_of(build) == []
