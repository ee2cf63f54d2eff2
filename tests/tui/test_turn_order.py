"""An order kept up to date by what changed is the order that sorting anew would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from batchdeck.core.model.ask import Ask
from batchdeck.core.model.line import lines_of
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import ENDED, Turn, TurnState
from batchdeck.core.rules.order import place, service_order
from batchdeck.core.view import DeckView
from batchdeck.tui.present.filtering import read_filter
from batchdeck.tui.present.needs import Needs, needs
from batchdeck.tui.present.queues import Queues
from batchdeck.tui.present.turn_order import TurnOrder
from tests.support.stub_deck import NOW_MS, task, turn, view_of

states = st.sampled_from(list(TurnState))
moves = st.lists(
    st.tuples(st.integers(1, 12), states, st.sampled_from(["coder", "tester"]), st.integers(0, 2)),
    max_size=25,
)


def moved(view: DeckView, step: tuple[int, TurnState, str, int]) -> DeckView:
    turn_id, state, agent, priority = step
    turns = {
        **view.turns,
        turn_id: turn(
            turn_id,
            state,
            agent=agent,
            priority=priority * 50,
            conversation=turn_id % 4,
            target=f"t{turn_id % 3}",
        ),
    }
    status = Status.DONE if state is TurnState.SUCCEEDED else Status.READY
    tasks = {**view.tasks, turn_id: task(turn_id, status)}
    if state is TurnState.SUPERSEDED:
        del turns[turn_id]
    asks = {turn_id: Ask(turn_id, turn_id, "?")} if state is TurnState.RUNNING else {}
    return replace(view, turns=turns, tasks=tasks, asks=asks, in_order=in_lines(turns))


def in_lines(turns: Mapping[int, Turn]) -> dict[str, tuple[int, ...]]:
    lines: dict[str, tuple[int, ...]] = {}
    for number in sorted(turns):
        if turns[number].state not in ENDED:
            for line in lines_of(turns[number]):
                lines[line] = (*lines.get(line, ()), number)
    return {line: members for line, members in lines.items() if len(members) > 1}


@settings(deadline=None)
@given(moves, st.sampled_from(["", "agent:coder", "!agent:coder", "status:READY", "state:queued"]))
def test_changes_lead_to_the_same_order_as_a_fresh_start(
    steps: list[tuple[int, TurnState, str, int]], words: str
) -> None:
    kept, known, queues = TurnOrder(), Needs(), Queues()
    kept.refilter(read_filter(words))
    view = DeckView()
    for step in steps:
        view = moved(view, step)
        kept.update(view, known.of(view))
        queues.update(view)
        fresh = TurnOrder()
        fresh.update(view, needs(view))
        fresh.refilter(read_filter(words))
        assert kept.ids == fresh.ids
        assert list(queues.in_order()) == list(service_order(view))
        waiting = [shown for shown in kept.ids if view.turns[shown].state is TurnState.QUEUED]
        assert waiting == [turn for turn in service_order(view) if turn in set(waiting)]
        for queued in service_order(view):
            assert queues.place(view.turns[queued]) == place(view.turns[queued], view)


def test_what_needs_you_comes_first_then_what_runs_what_waits_and_what_ended() -> None:
    turns = [
        turn(1, TurnState.SUCCEEDED, ended_ms=NOW_MS - 9),
        turn(2, TurnState.FAILED, ended_ms=NOW_MS - 5),
        turn(3),
        turn(4, priority=100),
        turn(5, TurnState.RUNNING),
        turn(6, TurnState.RUNNING),
        turn(7, TurnState.LOST),
    ]
    order = TurnOrder()
    view = view_of(turns, [task(t.id) for t in turns], asks={1: Ask(1, 6, "?")})
    order.update(view, needs(view))
    assert order.ids == [6, 7, 5, 4, 3, 2, 1]


def test_nothing_changed_means_nothing_moved() -> None:
    view = view_of([turn(1), turn(2)])
    order = TurnOrder()
    assert order.update(view, ())
    assert not order.update(view, ())
    assert not order.update(replace(view, revision=9), ())
    retitled = {**view.turns, 1: replace(view.turns[1], title="other words")}
    assert not order.update(replace(view, turns=retitled), ())
