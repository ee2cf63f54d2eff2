"""Items are chosen in steps exactly as the rule chooses them anew."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchdeck.core.deck.items import Items
from batchdeck.core.model.foreach import Foreach, Step
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import Trigger, Turn, TurnState
from batchdeck.core.rules.items import (
    OUTSTANDING,
    Stage,
    candidate,
    chosen,
    may_be_chosen,
    stage_of,
)

PLAN = Foreach((Step("one", "a", "p"), Step("two", "a", "p")))


def item(index: int, status: Status = Status.READY, **fields: int) -> Task:
    return Task(
        id=index + 1,
        key=f"item-{index}",
        batch="b",
        title="",
        agent="a",
        status=status,
        conversation=index + 1,
        position=index,
        index=index,
        **fields,
    )


def turn_of(task: Task, number: int, state: TurnState = TurnState.QUEUED, **fields: object) -> Turn:
    trigger = fields.pop("trigger", Trigger.TASK)
    ended = 1 if state is TurnState.SUCCEEDED else None
    return Turn(  # type: ignore[misc]
        id=number,
        agent="a",
        conversation=task.conversation,
        trigger=trigger,
        position=number,
        state=state,
        task=task.id,
        batch="b",
        ended_ms=ended,
        **fields,
    )


@pytest.mark.parametrize(
    ("task", "turn", "stage"),
    [
        (item(0), turn_of(item(0), 1), Stage.UNBEGUN),
        (item(0), turn_of(item(0), 1, TurnState.RUNNING), Stage.ACTIVE),
        (item(0, Status.IN_PROGRESS, step=1), turn_of(item(0), 1), Stage.ACTIVE),
        (item(0, Status.BLOCKED), turn_of(item(0), 1, TurnState.WAITING), Stage.WAITING),
        (item(0), turn_of(item(0), 1, trigger=Trigger.ANSWER), Stage.RETURNING),
        (item(0, step=1), turn_of(item(0), 1), Stage.RETURNING),
        (item(0, Status.FAILED, attempts=1), turn_of(item(0), 1), Stage.ACTIVE),
        (item(0, Status.FAILED), turn_of(item(0), 1), Stage.RETRIED),
        (item(0, Status.FAILED, attempts=1), None, Stage.OVER),
        (item(0, Status.DONE), None, Stage.OVER),
        (item(0), None, Stage.IDLE),
        (item(0, Status.BACKLOG), turn_of(item(0), 1), Stage.IDLE),
    ],
)
def test_an_item_that_waits_for_a_slot_is_at_work_and_one_that_asks_is_not(
    task: Task, turn: Turn | None, stage: Stage
) -> None:
    assert stage_of(task, turn) is stage


class Play:
    """Items whose rows change at random, as rows of an engine do."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.items = Items(PLAN)
        self.tasks: dict[int, Task] = {}
        self.turns: dict[int, Turn | None] = {}
        self.number = 0
        for index in dice.sample(range(12), 12):
            self.put(item(index), TurnState.QUEUED)

    def put(self, task: Task, state: TurnState | None, **fields: object) -> None:
        before = self.turns.get(task.id)
        if before is not None:
            ended = turn_of(task, before.id, TurnState.SUCCEEDED, trigger=before.trigger)
            self.items.note_turn(ended, task)
        self.tasks[task.id], self.turns[task.id] = task, None
        self.items.note_task(task)
        if state is not None:
            self.number += 1
            turn = self.turns[task.id] = turn_of(task, self.number, state, **fields)
            self.items.note_turn(turn, task)

    def step(self) -> None:
        task = self.dice.choice(list(self.tasks.values()))
        index = task.index or 0
        match self.dice.randrange(9):
            case 0 | 1:
                self.put(item(index, Status.IN_PROGRESS), TurnState.RUNNING)
            case 2:
                self.put(item(index, Status.DONE), None)
            case 3:
                self.put(item(index, Status.BLOCKED), TurnState.WAITING)
            case 4:
                self.put(item(index), TurnState.QUEUED, trigger=Trigger.ANSWER)
            case 5:
                self.put(item(index), TurnState.QUEUED, held_by=self.dice.choice([None, "op"]))
            case 6:
                self.put(item(index, Status.FAILED, attempts=1), None)
            case 7:
                self.put(item(index, Status.FAILED), TurnState.QUEUED, trigger=Trigger.RETRY)
            case 8:
                self.put(item(index), TurnState.QUEUED)

    def by_the_rule(self, active: int | None, outstanding: int | None) -> set[int]:
        stages = {id: stage_of(task, self.turns[id]) for id, task in self.tasks.items()}
        candidates = [
            candidate(stage, self.tasks[id].index or 0, turn.id)
            for id, stage in stages.items()
            if (turn := self.turns[id]) is not None and may_be_chosen(stage, turn)
        ]
        at_work = sum(stage is Stage.ACTIVE for stage in stages.values())
        begun = sum(stage in OUTSTANDING for stage in stages.values())
        found = chosen(sorted(candidates), at_work, begun, active, outstanding)
        return {turn for _, _, turn in found}


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9))
def test_the_choice_in_steps_is_the_rules_whatever_happens(seed: int) -> None:
    dice = random.Random(seed)
    play = Play(dice)
    free: set[int] = set()
    for _ in range(40):
        for _ in range(dice.randrange(3)):
            play.step()
        active = dice.choice([None, 0, 1, 2, 4])
        outstanding = dice.choice([None, 0, 2, 5])
        closed = dice.random() < 0.1
        entered, left = play.items.choose(active, outstanding, closed=closed)
        free = (free | set(entered)) - set(left)
        wanted = set() if closed else play.by_the_rule(active, outstanding)
        assert play.items.standing.chosen == wanted
        queued = {turn.id for turn in play.turns.values() if turn is not None}
        assert free & queued == wanted, "the scheduler was told of each of them"
