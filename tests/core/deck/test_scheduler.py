"""The scheduler finds in memory exactly what the pure plan would start."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchdeck.core.deck.closing import close_slots
from batchdeck.core.deck.restoring import only_limits_left, scheduler_for
from batchdeck.core.deck.scheduler import Scheduler
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.rules.plan import starts
from tests.support.builders import NOW, StateBuilder, folder

FOLDERS = [None, None, "/repo", "/repo/docs", "/repo/docs/api", "/repo2", "/other"]
LIMITS = [0, 1, 2, 3, None]


class _Random:
    """A deck with everything in it, changed at random, with a scheduler that follows."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.build = StateBuilder(limit=self.dice.choice([0, 1, 2, 4, 8]))
        for agent in "abc":
            self.build.agent(agent, self.dice.choice(LIMITS), serial=self.dice.random() < 0.2)
        for batch in ("x", "y"):
            self.build.batch(batch, self.dice.choice(LIMITS))
            for status in (Status.READY, Status.IN_PROGRESS):
                self.build.limit(f"status:{batch}/{status}", self.dice.choice(LIMITS))
        for _ in range(self.dice.randrange(1, 30)):
            self.add()
        self.scheduler = scheduler_for(self.build.state, NOW)

    def add(self):
        batch = self.dice.choice([None, "x", "y"])
        path = self.dice.choice(FOLDERS)
        return self.build.turn(
            self.dice.choice("abc"),
            batch=batch,
            lane=None if batch is None else self.dice.choice([Status.READY, Status.IN_PROGRESS]),
            folder=None if path is None else folder(path),
            target=self.dice.choice([None, None, None, "issue-1", "issue-2"]),
            conversation=self.dice.choice([1, 2, 3, *range(100, 120)]),
            priority=self.dice.choice([0, 0, 0, 5, 100]),
            held_by=self.dice.choice([None, None, None, None, "op"]),
            not_before_ms=self.dice.choice([0, 0, 0, NOW + 1000]),
        )

    def refresh(self, turn) -> None:
        if only_limits_left(turn, self.build.state, NOW):
            self.scheduler.add(turn)
        else:
            self.scheduler.remove(turn.id)

    def admit(self) -> list[int]:
        chosen = []
        while (turn := self.scheduler.next()) is not None:
            self.build.change(turn, state=TurnState.RUNNING, attempt="a", started_ms=NOW)
            chosen.append(turn.id)
        return chosen

    def change_something(self) -> None:
        self.dice.choice(
            [self._end, self._end, self._limit, self._arrive, self._hold, self._drop]
        )()

    def _end(self) -> None:
        live = list(self.build.state.live)
        if not live:
            return
        turn = self.build.state.turns[self.dice.choice(live)]
        self.scheduler.release(turn)
        ended = self.build.change(turn, state=TurnState.SUCCEEDED, ended_ms=NOW)
        for following in self.build.state.lines.behind(ended):
            if following.state is TurnState.QUEUED:
                self.refresh(following)

    def _limit(self) -> None:
        name = self.dice.choice(sorted(self.build.state.limits))
        value = self.dice.choice([0, 1, 2, 4]) if name == "global" else self.dice.choice(LIMITS)
        self.build.limit(name, value)
        view = self.build.state.snapshot(NOW)
        self.scheduler.set_limit(name, effective_limit(view, name))

    def _arrive(self) -> None:
        self.refresh(self.add())

    def _hold(self) -> None:
        state = self.build.state
        what = self.dice.choice(["deck", "agent:a", "batch:x", "folder:/repo/docs"])
        if what in state.holds:
            del state.holds[what]
        else:
            state.holds[what] = Hold(what, "op")
        close_slots(state, self.scheduler, NOW)

    def _drop(self) -> None:
        queued = [t for t in self.build.state.turns.values() if t.state is TurnState.QUEUED]
        if not queued:
            return
        turn = self.dice.choice(queued)
        self.scheduler.remove(turn.id)
        ended = replace(turn, state=TurnState.CANCELLED, ended_ms=NOW)
        self.build.state.put_turn(ended)
        for following in self.build.state.lines.behind(ended):
            if following.state is TurnState.QUEUED:
                self.refresh(following)


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_schedulers_choice_equals_the_plans_whatever_happens(seed: int) -> None:
    deck = _Random(seed)
    for _ in range(20):
        expected = list(starts(deck.build.state.snapshot(NOW), NOW))
        assert deck.admit() == expected
        deck.change_something()


def test_a_blocked_turn_in_front_does_not_hold_up_one_that_can_run() -> None:
    build = StateBuilder()
    build.agent("full", 1)
    build.agent("free", 1)
    build.running("full")
    build.turn("full")
    behind = build.turn("free")
    assert scheduler_for(build.state, NOW).next() == behind


def test_a_full_deck_is_not_searched() -> None:
    build = StateBuilder(limit=1)
    build.agent("a", 10)
    build.running("a")
    build.turn("a")
    assert scheduler_for(build.state, NOW).next() is None


def test_raising_a_limit_wakes_the_best_of_those_that_waited_for_it() -> None:
    build = StateBuilder()
    build.agent("a", 1)
    build.running("a")
    build.turn("a", batch=None)
    urgent = build.turn("a", priority=9, folder=folder("/x"))
    scheduler = scheduler_for(build.state, NOW)
    assert scheduler.next() is None
    scheduler.set_limit("agent:a", 2)
    assert scheduler.next() == urgent


@pytest.mark.parametrize("waiting", ["/repo", "/repo/docs", "/repo/docs/api"])
def test_a_folder_that_is_given_back_lets_its_parents_and_children_in(waiting: str) -> None:
    build = StateBuilder()
    build.agent("a", 10)
    holder = build.running("a", folder=folder("/repo/docs"))
    turn = build.turn("a", folder=folder(waiting))
    scheduler = scheduler_for(build.state, NOW)
    assert scheduler.next() is None
    scheduler.release(holder)
    assert scheduler.next() == turn


def test_nothing_is_taken_by_a_turn_that_cannot_start() -> None:
    scheduler = Scheduler()
    scheduler.set_limit("agent:a", 0)
    build = StateBuilder()
    build.agent("a", 0)
    scheduler.add(build.turn("a"))
    assert scheduler.next() is None
    assert set(scheduler.taken().values()) == {0}
