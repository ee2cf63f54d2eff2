"""A view tells which turns changed since the views before it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.difference import KEPT_NEWS, changed_ids, changed_tasks, changed_turns
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import DeckView
from tests.support.builders import NOW, StateBuilder

steps = st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=60)


@given(steps, st.integers(1, 2 * KEPT_NEWS))
def test_what_a_view_tells_is_what_comparing_it_as_a_whole_would_find(
    steps: list[int | None], skipped: int
) -> None:
    deck = StateBuilder()
    deck.state.kept_ended = 3
    deck.agent("coder")
    deck.batch("b")
    known = [deck.turn("coder") for _ in range(5)]
    tasks = [deck.task("b", "coder") for _ in range(5)]
    before: DeckView = deck.state.publish(NOW)
    for number, step in enumerate(steps):
        if step is None:
            deck.turn("coder")
            deck.task("b", "coder")
        else:
            tasks[step] = replace(tasks[step], attempts=number)
            deck.state.put_task(tasks[step])
        if step is not None and deck.state.turns.get(known[step].id) == known[step]:
            known[step] = deck.change(known[step], state=TurnState.CANCELLED, ended_ms=NOW)
        deck.state.forget_old_ends()
        deck.state.revision += 1
        view = deck.state.publish(NOW)
        if number % skipped == 0:
            compared = changed_ids(before.turns, view.turns)
            gone = before.turns.keys() - view.turns.keys()
            assert changed_turns(before, view) >= compared | gone
            assert changed_tasks(before, view) >= changed_ids(before.tasks, view.tasks)
            before = view
