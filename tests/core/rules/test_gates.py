"""Every gate of a turn: its numbers, who holds it, what frees it, and their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from batchdeck.core.model.account import Cooldown
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import Batch, Interrupt
from batchdeck.core.model.gate import CAPACITY, Gate, GateName
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.gates import admissible, evaluate, passable, shut
from batchdeck.core.rules.plan import starts
from batchdeck.core.rules.standing import Standing
from batchdeck.core.view import DeckView, ItemsStanding, Spending
from tests.core.rules.decks import decks
from tests.support.builders import NOW, StateBuilder, folder


def deck(limit: int = 4) -> StateBuilder:
    """Agents `a` (2) and `b` (1), a batch `docs`."""
    build = StateBuilder(limit)
    build.agent("a", 2)
    build.agent("b", 1)
    build.batch("docs")
    return build


def gate_of(name: GateName, turn: Turn, build: StateBuilder, **fields: Any) -> Gate:
    """The one gate of that name, in the deck as it stands."""
    view = replace(build.state.snapshot(NOW), **fields)
    found = [gate for gate in evaluate(turn, view, NOW) if gate.name is name]
    assert len(found) == 1, f"{name} appears {len(found)} times"
    return found[0]


def holders(gate: Gate) -> list[int]:
    return [holder.turn for holder in gate.holders]


# -- hold


def test_a_turn_that_nobody_holds_finds_the_hold_gate_open() -> None:
    build = deck()
    gate = gate_of(GateName.HOLD, build.turn("a"), build)
    assert gate.open
    assert gate.frees == ""


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("deck", "the deck, by op: lunch"),
        ("agent:a", "agent a, by op: lunch"),
        ("batch:docs", "batch docs, by op: lunch"),
        ("folder:/repo/docs", "its folder, by op: lunch"),
        ("folder:/repo", "its folder, by op: lunch"),
        ("turn:1", "this turn, by op: lunch"),
    ],
)
def test_a_hold_says_what_is_held_by_whom_and_why(what: str, words: str) -> None:
    build = deck()
    turn = build.turn("a", batch="docs", folder=folder("/repo/docs"))
    build.state.holds[what] = Hold(what, "op", "lunch")
    gate = gate_of(GateName.HOLD, turn, build)
    assert (gate.open, gate.subject, gate.frees) == (False, words, "when it is released")


@pytest.mark.parametrize("what", ["agent:b", "batch:site", "folder:/repo2", "turn:99"])
def test_a_hold_of_something_else_is_no_hold(what: str) -> None:
    build = deck()
    turn = build.turn("a", batch="docs", folder=folder("/repo/docs"))
    build.state.holds[what] = Hold(what, "op")
    assert gate_of(GateName.HOLD, turn, build).open


@pytest.mark.parametrize(
    ("turn_fields", "view_fields", "words"),
    [
        ({"held_by": "op"}, {}, "this turn, by op"),
        ({"authorised": False}, {}, "not authorised yet"),
        ({}, {"draining": True}, "the deck is draining"),
    ],
)
def test_held_unauthorised_and_draining_all_shut_the_hold_gate(
    turn_fields: dict[str, Any], view_fields: dict[str, Any], words: str
) -> None:
    build = deck()
    gate = gate_of(GateName.HOLD, build.turn("a", **turn_fields), build, **view_fields)
    assert not gate.open
    assert words in gate.subject


@pytest.mark.parametrize(
    ("held_by", "frees"),
    [
        (None, "when the deck admits again (batchdeck drain --off)"),
        ("op", "when it is released and the deck admits again (batchdeck drain --off)"),
    ],
)
def test_a_drain_says_what_ends_it_beside_the_release_of_a_hold(
    held_by: str | None, frees: str
) -> None:
    build = deck()
    turn = build.turn("a", held_by=held_by)
    assert gate_of(GateName.HOLD, turn, build, draining=True).frees == frees


@pytest.mark.parametrize("interrupt", list(Interrupt))
def test_an_open_question_holds_a_batch_that_quiesces(interrupt: Interrupt) -> None:
    build = deck()
    build.state.batches["docs"] = Batch(id=1, name="docs", interrupt=interrupt)
    asking = build.turn("a", batch="docs", state=TurnState.WAITING)
    build.state.asks[1] = Ask(id=1, turn=asking.id, question="?", opened_ms=NOW)
    gate = gate_of(GateName.HOLD, build.turn("b", batch="docs"), build)
    assert gate.open == (interrupt is Interrupt.CONTINUE)
    assert gate.open or gate.subject == "batch docs waits for an answer"
    assert gate_of(GateName.HOLD, build.turn("b"), build).open


def test_several_holds_are_all_named() -> None:
    build = deck()
    turn = build.turn("a", held_by="eve")
    build.state.holds["deck"] = Hold("deck", "op")
    assert gate_of(GateName.HOLD, turn, build).subject == "the deck, by op; this turn, by eve"


# -- budget, cooldown, not_before


@pytest.mark.parametrize(
    ("spent", "is_open"),
    [
        (Spending(used=9, limit=10, hard=True), True),
        (Spending(used=10, limit=10, hard=True), False),
        (Spending(used=99, limit=10, hard=False), True),
    ],
)
def test_a_hard_budget_that_is_reached_shuts_and_a_soft_one_does_not(
    spent: Spending, is_open: bool
) -> None:
    build = deck()
    turn = build.turn("a", batch="docs")
    gate = gate_of(GateName.BUDGET, turn, build, budgets={"batch:docs": spent})
    assert gate.open is is_open
    assert gate.subject == "batch:docs"
    assert gate.frees == ("" if is_open else "when the budget is raised")


def test_agents_of_one_account_cool_down_together() -> None:
    build = deck()
    build.agent("c", 1, account="team")
    cools = {"team": Cooldown("team", NOW + 30_000, NOW)}
    gate = gate_of(GateName.COOLDOWN, build.turn("c"), build, cooldowns=cools)
    assert (gate.open, gate.subject, gate.frees) == (False, "team", "in 30 s")
    over = {"team": Cooldown("team", NOW, NOW)}
    assert gate_of(GateName.COOLDOWN, build.turn("c"), build, cooldowns=over).open


def test_while_one_turn_tries_an_account_the_others_wait_for_it() -> None:
    build = deck()
    build.agent("c", 2, account="team")
    probe = build.turn("c", state=TurnState.RUNNING, started_ms=NOW)
    tried = {"team": Cooldown("team", NOW, NOW, probe=probe.id)}
    gate = gate_of(GateName.COOLDOWN, build.turn("c"), build, cooldowns=tried)
    assert not gate.open
    assert [holder.turn for holder in gate.holders] == [probe.id]
    assert gate.frees == "when the turn that tries it has ended"


def test_a_plan_starts_one_turn_of_an_account_that_may_be_tried() -> None:
    build = deck()
    build.agent("c", 4, account="team")
    build.state.cooldowns["team"] = Cooldown("team", NOW, NOW)
    first, _ = build.turn("c"), build.turn("c")
    assert starts(build.state.snapshot(NOW), NOW) == (first.id,)


def test_a_held_account_holds_all_its_agents() -> None:
    build = deck()
    build.agent("c", 1, account="team")
    build.state.holds["account:team"] = Hold("account:team", "op")
    gate = gate_of(GateName.HOLD, build.turn("c"), build)
    assert (gate.open, gate.subject) == (False, "account team, by op")


@pytest.mark.parametrize(
    ("ahead", "is_open", "words"),
    [(1, False, "in 1 s"), (5_000, False, "in 5 s"), (600_000, False, "in 10 min"), (0, True, "")],
)
def test_a_back_off_shuts_until_its_time(ahead: int, is_open: bool, words: str) -> None:
    build = deck()
    gate = gate_of(GateName.NOT_BEFORE, build.turn("a", not_before_ms=NOW + ahead), build)
    assert (gate.open, gate.frees) == (is_open, words)


# -- depends_on, target, conversation


def test_an_open_dependency_shuts_and_names_what_is_needed() -> None:
    build = deck()
    first, second = build.task("docs", "a"), build.task("docs", "a")
    turn = build.turn("a", depends_on=(first.id, second.id))
    gate = gate_of(GateName.DEPENDS_ON, turn, build)
    assert (gate.open, gate.subject, gate.frees) == (False, "T1, T2", "when T1, T2 is done")


@pytest.mark.parametrize("status", [Status.BACKLOG, Status.BLOCKED])
def test_a_status_that_admits_nothing_shuts_the_dependency_gate(status: Status) -> None:
    build = deck()
    task = build.task("docs", "a", status)
    turn = build.turn("a", task=task.id, batch="docs", lane=status, blocked=True)
    gate = gate_of(GateName.DEPENDS_ON, turn, build)
    assert (gate.open, gate.subject, gate.frees) == (False, status, "when the task is READY")


@pytest.mark.parametrize(
    "fields", [{}, {"authorised": False}, {"held_by": "op"}, {"state": TurnState.WAITING}]
)
def test_any_earlier_turn_of_a_target_shuts_it_for_later_ones(fields: dict[str, Any]) -> None:
    build = deck()
    earlier = build.turn("a", target="issue-1", **fields)
    gate = gate_of(GateName.TARGET, build.turn("b", target="issue-1"), build)
    assert (gate.open, gate.subject, gate.used) == (False, "issue-1", 1)
    assert holders(gate) == [earlier.id]
    assert gate.frees == f"when #{earlier.id} has ended"


def test_the_first_of_a_target_and_those_of_others_find_it_open() -> None:
    build = deck()
    first = build.turn("a", target="issue-1")
    build.turn("a", target="issue-1")
    assert gate_of(GateName.TARGET, first, build).open
    assert gate_of(GateName.TARGET, build.turn("a", target="issue-2"), build).open


def test_order_within_a_target_is_that_of_receipt_whatever_the_priority() -> None:
    build = deck()
    earlier = build.turn("a", target="issue-1")
    urgent = build.turn("a", target="issue-1", priority=100)
    assert holders(gate_of(GateName.TARGET, urgent, build)) == [earlier.id]


def test_an_ended_turn_opens_its_target() -> None:
    build = deck()
    earlier = build.turn("a", target="issue-1")
    later = build.turn("a", target="issue-1")
    build.change(earlier, state=TurnState.CANCELLED, ended_ms=NOW)
    assert gate_of(GateName.TARGET, later, build).open


def test_a_conversation_has_one_turn_at_a_time_in_order() -> None:
    build = deck()
    running = build.running("a", conversation=7)
    queued = build.turn("a", conversation=7)
    third = build.turn("a", conversation=7)
    gate = gate_of(GateName.CONVERSATION, third, build)
    assert (gate.open, gate.subject, gate.used) == (False, "c7", 2)
    assert set(holders(gate)) == {running.id, queued.id}


@pytest.mark.parametrize("sequence", [{"target": "issue-1"}, {"conversation": 7}])
@pytest.mark.parametrize("state", [TurnState.RUNNING, TurnState.STOPPING, TurnState.WAITING])
def test_a_turn_put_back_before_one_that_has_begun_waits_for_it(
    sequence: dict[str, Any], state: TurnState
) -> None:
    build = deck()
    begun = build.turn("a", position=5, state=state, **sequence)
    name = GateName.TARGET if "target" in sequence else GateName.CONVERSATION
    gate = gate_of(name, build.turn("a", position=1, **sequence), build)
    assert (gate.open, holders(gate)) == (False, [begun.id])
    assert gate.frees == f"when #{begun.id} has ended"


# -- capacity


def capacity_case(name: GateName, limit: int | None) -> tuple[StateBuilder, Turn, list[int]]:
    """One turn that waits behind two running ones, and the limit of one gate."""
    build = deck(limit=limit if name is GateName.GLOBAL and limit is not None else 30)
    build.agent("a", limit if name is GateName.AGENT else 10)
    key = {GateName.STATUS: "status:docs/READY", GateName.BATCH: "batch:docs"}.get(name)
    if key is not None:
        build.limit(key, limit)
    shared = {"batch": "docs", "lane": Status.READY}
    running = [build.running("a", **shared).id for _ in range(2)]
    return build, build.turn("a", **shared), running


SUBJECTS = {
    GateName.AGENT: "a",
    GateName.STATUS: "READY",
    GateName.BATCH: "docs",
    GateName.GLOBAL: "",
}


@pytest.mark.parametrize("name", sorted(CAPACITY))
def test_a_full_capacity_gate_tells_used_limit_holders_and_what_frees_it(name: GateName) -> None:
    build, turn, running = capacity_case(name, 2)
    gate = gate_of(name, turn, build)
    assert (gate.open, gate.used, gate.limit) == (False, 2, 2)
    assert gate.subject == SUBJECTS[name]
    assert holders(gate) == running
    assert gate.frees == "when #1 or #2 ends"
    assert gate.passable


@pytest.mark.parametrize("name", sorted(CAPACITY))
def test_a_capacity_gate_with_room_is_open_and_tells_its_numbers(name: GateName) -> None:
    build, turn, _ = capacity_case(name, 3)
    gate = gate_of(name, turn, build)
    assert (gate.open, gate.used, gate.limit, gate.holders) == (True, 2, 3, ())
    assert gate.frees == ""


@pytest.mark.parametrize("name", sorted(CAPACITY))
def test_a_limit_of_zero_is_closed_and_cannot_be_forced(name: GateName) -> None:
    build, turn, _ = capacity_case(name, 0)
    gate = gate_of(name, turn, build)
    assert (gate.open, gate.limit, gate.passable) == (False, 0, False)
    assert gate.frees == "when its limit is raised: it is closed"


@pytest.mark.parametrize("name", sorted(CAPACITY))
def test_over_a_lowered_limit_the_gate_says_how_many_must_end(name: GateName) -> None:
    build, turn, _ = capacity_case(name, 1)
    gate = gate_of(name, turn, build)
    assert (gate.open, gate.used, gate.limit) == (False, 2, 1)
    assert gate.frees == "when 2 of 2 running turns have ended"


@pytest.mark.parametrize("name", [GateName.STATUS, GateName.BATCH])
def test_no_limit_of_its_own_leaves_the_decision_to_the_next_wider_gate(name: GateName) -> None:
    build, turn, _ = capacity_case(name, None)
    gate = gate_of(name, turn, build)
    assert (gate.open, gate.used, gate.limit) == (True, 2, None)
    build.limit("global", 2)
    assert not gate_of(GateName.GLOBAL, turn, build).open


def test_a_turn_stopping_still_holds_its_slot_and_one_waiting_does_not() -> None:
    build = deck()
    stopping = build.turn("b", state=TurnState.STOPPING, started_ms=NOW)
    waiting_turn = build.turn("b")
    gate = gate_of(GateName.AGENT, waiting_turn, build)
    assert (gate.used, holders(gate)) == (1, [stopping.id])
    build.change(stopping, state=TurnState.CANCELLED, ended_ms=NOW)
    asking = build.turn("b", state=TurnState.WAITING, started_ms=NOW)
    assert asking.state is TurnState.WAITING
    assert gate_of(GateName.AGENT, waiting_turn, build).open


def test_each_turn_is_judged_by_its_own_lane() -> None:
    build = deck(limit=30)
    build.limit("status:docs/READY", 4)
    build.limit("status:docs/IN_PROGRESS", 1)
    build.agent("a", 10)
    build.running("a", batch="docs", lane=Status.IN_PROGRESS)
    ready = build.turn("a", batch="docs", lane=Status.READY)
    begun = build.turn("a", batch="docs", lane=Status.IN_PROGRESS)
    assert gate_of(GateName.STATUS, ready, build).open
    assert not gate_of(GateName.STATUS, begun, build).open


def test_lanes_of_two_batches_do_not_meet() -> None:
    build = deck(limit=30)
    build.batch("site")
    build.limit("status:docs/READY", 1)
    build.limit("status:site/READY", 1)
    build.agent("a", 10)
    build.running("a", batch="docs", lane=Status.READY)
    assert gate_of(GateName.STATUS, build.turn("a", batch="site", lane=Status.READY), build).open


def test_the_global_limit_counts_the_running_turns_of_all_batches() -> None:
    build = deck(limit=2)
    build.batch("site")
    build.agent("a", 10)
    build.running("a", batch="docs", lane=Status.READY)
    build.running("a", batch="site", lane=Status.READY)
    gate = gate_of(GateName.GLOBAL, build.turn("b"), build)
    assert (gate.open, gate.used) == (False, 2)


def test_a_turn_without_a_task_has_no_status_and_no_batch_gate() -> None:
    build = deck()
    names = {gate.name for gate in evaluate(build.turn("a"), build.state.snapshot(NOW), NOW)}
    assert not names & {GateName.STATUS, GateName.BATCH, GateName.FOLDER, GateName.TARGET}


def test_a_serial_agent_is_shut_at_one_and_cannot_be_forced() -> None:
    build = deck()
    build.agent("c", 5, serial=True)
    build.running("c")
    gate = gate_of(GateName.AGENT, build.turn("c"), build)
    assert (gate.open, gate.used, gate.limit, gate.passable) == (False, 1, 1, False)


def test_more_than_three_holders_are_counted_and_not_listed_in_the_words() -> None:
    build = deck(limit=4)
    build.agent("a", 10)
    for _ in range(4):
        build.running("a")
    gate = gate_of(GateName.GLOBAL, build.turn("b"), build)
    assert gate.frees == "when one of 4 running turns ends"
    assert len(gate.holders) == 4


def test_holders_come_oldest_first_with_their_task_and_since_when() -> None:
    build = deck()
    task = build.task("docs", "b", key="T-114")
    young = build.running("a")
    build.change(young, started_ms=NOW - 1)
    old = build.running("a", task=task.id, batch="docs", lane=Status.READY)
    build.change(old, started_ms=NOW - 252_000, forced=("agent",))
    found = gate_of(GateName.AGENT, build.turn("a"), build).holders
    assert [(h.turn, h.task, h.since_ms, h.forced) for h in found] == [
        (old.id, "T-114", NOW - 252_000, True),
        (young.id, None, NOW - 1, False),
    ]


# -- folder, items, attention


@pytest.mark.parametrize(
    ("held", "wanted", "is_open"),
    [
        ("/repo", "/repo", False),
        ("/repo", "/repo/docs", False),
        ("/repo/docs/api", "/repo", False),
        ("/repo/docs", "/repo2", True),
        ("/repo/docs", "/repo/doc", True),
        ("/repo/a%", "/repo/ab", True),
    ],
)
def test_a_folder_excludes_its_parents_and_children_and_nothing_else(
    held: str, wanted: str, is_open: bool
) -> None:
    build = deck()
    holder = build.running("a", folder=folder(held))
    gate = gate_of(GateName.FOLDER, build.turn("b", folder=folder(wanted)), build)
    assert (gate.open, gate.limit, gate.subject) == (is_open, 1, wanted)
    assert holders(gate) == ([] if is_open else [holder.id])
    assert not gate.passable


def test_a_turn_that_waits_for_a_person_keeps_its_folder_and_nothing_else() -> None:
    build = deck(limit=1)
    build.turn("b", state=TurnState.WAITING, folder=folder("/repo"))
    turn = build.turn("b", folder=folder("/repo"))
    names = [gate.name for gate in shut(evaluate(turn, build.state.snapshot(NOW), NOW))]
    assert names == [GateName.FOLDER]


def test_turns_without_a_folder_never_meet() -> None:
    build = deck()
    build.running("a")
    view = build.state.snapshot(NOW)
    assert GateName.FOLDER not in {g.name for g in evaluate(build.turn("b"), view, NOW)}


@pytest.mark.parametrize(
    ("items", "is_open", "numbers"),
    [
        (ItemsStanding(4, 5, 4, 20), False, (4, 4)),
        (ItemsStanding(3, 20, 4, 20), False, (20, 20)),
        (ItemsStanding(3, 19, 4, 20, frozenset({1})), True, (3, 4)),
    ],
)
def test_a_foreach_is_shut_by_its_active_or_by_its_outstanding_items(
    items: ItemsStanding, is_open: bool, numbers: tuple[int, int]
) -> None:
    build = deck()
    build.limit("items:docs", 4)
    build.limit("items:docs/outstanding", 20)
    item = build.task("docs", "a", index=0)
    turn = build.turn("a", batch="docs", task=item.id)
    gate = gate_of(GateName.ITEMS, turn, build, items={"docs": items})
    assert (gate.open, (gate.used, gate.limit)) == (is_open, numbers)


def test_as_many_waiting_turns_as_allowed_shut_the_attention_gate() -> None:
    build = deck()
    build.limit("attention", 1)
    turn = build.turn("a")
    assert gate_of(GateName.ATTENTION, turn, build).open
    asking = build.turn("b", state=TurnState.WAITING)
    build.state.asks[1] = Ask(id=1, turn=asking.id, question="?", opened_ms=NOW)
    gate = gate_of(GateName.ATTENTION, turn, build)
    assert (gate.open, gate.used, gate.limit) == (False, 1, 1)
    assert holders(gate) == [asking.id]
    assert gate.frees == "when you answer one"


# -- all of them


def everything_shut() -> tuple[Turn, DeckView]:
    """A turn with all fourteen gates shut at once."""
    build = deck(limit=1)
    build.agent("a", 1)
    build.batch("docs", 1)
    build.limit("status:docs/READY", 1)
    build.limit("attention", 0)
    build.limit("items:docs", 1)
    build.limit("items:docs/outstanding", 1)
    needed = build.task("docs", "a")
    item = build.task("docs", "a", index=0)
    shared: dict[str, Any] = {
        "batch": "docs",
        "lane": Status.READY,
        "target": "issue-1",
        "conversation": 3,
        "folder": folder("/repo"),
    }
    build.running("a", **shared)
    turn = build.turn(
        "a",
        held_by="op",
        not_before_ms=NOW + 1,
        depends_on=(needed.id,),
        task=item.id,
        **shared,
    )
    view = replace(
        build.state.snapshot(NOW),
        budgets={"batch:docs/money": Spending(1, 1, True)},
        cooldowns={"a": Cooldown("a", NOW + 1, NOW)},
        items={"docs": ItemsStanding(1, 1, 1, 1)},
    )
    return turn, view


def test_all_gates_are_told_in_the_order_of_display_and_none_hides_another() -> None:
    turn, view = everything_shut()
    assert [gate.name for gate in shut(evaluate(turn, view, NOW))] == list(GateName)


def test_the_order_of_gates_is_this() -> None:
    words = (
        "hold budget cooldown not_before depends_on target conversation agent folder status batch "
        "global items attention"
    )
    assert list(GateName) == words.split()


def test_only_the_four_capacity_gates_can_be_passed() -> None:
    turn, view = everything_shut()
    can = {gate.name for gate in shut(evaluate(turn, view, NOW)) if gate.passable}
    assert can == CAPACITY
    for gate in shut(evaluate(turn, view, NOW)):
        assert passable([gate]) == (gate.name in CAPACITY)
    assert not passable(evaluate(turn, view, NOW))


@settings(max_examples=120, deadline=None)
@given(decks())
def test_a_turn_is_admissible_exactly_when_no_gate_is_shut(view: DeckView) -> None:
    standing = Standing(view)
    for turn in view.turns.values():
        if turn.state is TurnState.QUEUED:
            assert admissible(turn, standing, NOW) == (not shut(evaluate(turn, view, NOW)))


@settings(max_examples=80, deadline=None)
@given(decks())
def test_opening_just_the_shut_gates_lets_a_turn_start(view: DeckView) -> None:
    for turn in view.turns.values():
        if turn.state is not TurnState.QUEUED:
            continue
        opened, changed = turn, view
        for gate in shut(evaluate(turn, view, NOW)):
            opened, changed = _open(gate, opened, changed)
        assert not shut(evaluate(opened, changed, NOW))


@settings(max_examples=80, deadline=None)
@given(decks())
def test_leaving_one_shut_gate_alone_keeps_the_turn_waiting_for_just_that(view: DeckView) -> None:
    for turn in view.turns.values():
        if turn.state is not TurnState.QUEUED:
            continue
        gates = shut(evaluate(turn, view, NOW))
        for kept in gates:
            opened, changed = turn, view
            for gate in gates:
                if gate.name is not kept.name:
                    opened, changed = _open(gate, opened, changed)
            assert [gate.name for gate in shut(evaluate(opened, changed, NOW))] == [kept.name]


@settings(max_examples=80, deadline=None)
@given(decks())
def test_a_shut_gate_says_what_frees_it_and_its_holders_are_not_the_turn(view: DeckView) -> None:
    for turn in view.turns.values():
        if turn.state is not TurnState.QUEUED:
            continue
        for gate in evaluate(turn, view, NOW):
            assert bool(gate.frees) == (not gate.open)
            assert turn.id not in holders(gate)
            if gate.name in CAPACITY and not gate.open:
                assert len(gate.holders) == gate.used


def _open(gate: Gate, turn: Turn, view: DeckView) -> tuple[Turn, DeckView]:
    """The deck with one gate of one turn opened, and everything else as it was."""
    match gate.name:
        case GateName.HOLD:
            return replace(turn, held_by=None, authorised=True), replace(
                view, holds={}, draining=False
            )
        case GateName.BUDGET:
            return turn, replace(view, budgets={})
        case GateName.COOLDOWN:
            return turn, replace(view, cooldowns={})
        case GateName.NOT_BEFORE:
            return replace(turn, not_before_ms=0), view
        case GateName.DEPENDS_ON:
            return replace(turn, depends_on=(), blocked=False), view
        case GateName.TARGET:
            return turn, _first(view, f"target:{turn.target}", turn)
        case GateName.CONVERSATION:
            return turn, _first(view, f"conversation:{turn.conversation}", turn)
        case GateName.FOLDER:
            others = {id: replace(other, folder=None) for id, other in view.turns.items()}
            return turn, replace(view, turns=others)
        case GateName.ATTENTION:
            return turn, _without_limit(view, "attention")
        case GateName.GLOBAL:
            return turn, _with_limit(view, "global", view.running + 1)
        case GateName.AGENT:
            agents = dict(view.agents)
            agents[turn.agent] = replace(agents[turn.agent], serial=False)
            roomy = replace(view, agents=agents)
            return turn, _with_limit(roomy, f"agent:{turn.agent}", view.running + 1)
        case GateName.STATUS:
            return turn, _without_limit(view, f"status:{turn.batch}/{turn.lane}")
        case GateName.BATCH:
            return turn, _without_limit(view, f"batch:{turn.batch}")
    raise AssertionError(gate.name)


def _first(view: DeckView, sequence: str, turn: Turn) -> DeckView:
    in_order = dict(view.in_order)
    in_order[sequence] = (turn.id,)
    return replace(view, in_order=in_order)


def _with_limit(view: DeckView, name: str, value: int) -> DeckView:
    limits = dict(view.limits)
    limits[name] = replace(limits[name], value=value)
    return replace(view, limits=limits)


def _without_limit(view: DeckView, name: str) -> DeckView:
    return replace(view, limits={key: limit for key, limit in view.limits.items() if key != name})
