"""Whatever happens to the items of a foreach, its limits hold and its barrier is committed once."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from batchdeck.core.agents.adapter import Outcome, Question
from batchdeck.core.batchfile.templates import fill
from batchdeck.core.commands import AddBatch, AnswerAsk, ReleaseHold, RetryTask, SetLimit, StopTurn
from batchdeck.core.deck.results import values_of
from batchdeck.core.model.batch import BatchState, Interrupt, OnError
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import COMPLETED, Status
from batchdeck.core.model.turn import AttemptEnd, TurnState
from tests.core.deck.writer import Writer
from tests.support.builders import demo_agent

STEPS = [
    {"id": "plan", "agent": "a", "prompt": "Plan", "keep": "plan"},
    {"id": "do", "agent": "b", "prompt": "Do {{ plan }}", "writes": "out.all", "reducer": "append"},
    {
        "id": "count",
        "agent": "a",
        "prompt": "Count",
        "writes": "n",
        "reducer": "sum",
        "as": "number",
    },
]
BAD = (
    Outcome(TurnState.FAILED, exit_code=1, error="no"),
    Outcome(TurnState.SUCCEEDED, exit_code=0, text="no number"),
    Outcome(TurnState.WAITING, question=Question("which?")),
    Outcome(TurnState.QUEUED, AttemptEnd.FENCED),
    Outcome(TurnState.LOST, AttemptEnd.LOST, error="lost", if_lost="retry"),
    Outcome(TurnState.LOST, AttemptEnd.LOST, error="lost", if_lost="ask"),
    Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, error="stopped"),
)


NAMES = ("", "{{ 'log' if index % 2 else '' }}", "log")
"""Of the conversation that a step of agent a goes on in."""


def foreach(items: int, dice: random.Random) -> BatchSpec:
    first, last = dice.choice(NAMES), dice.choice(NAMES)
    tasks = [
        TaskSpec(
            f"item-{n}",
            "a",
            title=f"x{n}",
            prompt="Plan",
            index=n,
            item=str(n),
            conversation=fill(first, {"index": n}) or None,
        )
        for n in range(items)
    ]
    steps = [{**STEPS[0], "conversation": first}, STEPS[1], {**STEPS[2], "conversation": last}]
    limits = {"items:b": dice.randint(1, 3), "items:b/outstanding": dice.randint(3, 5)}
    return BatchSpec(
        "b",
        tuple(tasks),
        {name: demo_agent(name, 4) for name in "ab"},
        tuple(Limit(name, value, origin="test") for name, value in limits.items()),
        on_error=dice.choice([OnError.SKIP, OnError.FAIL]),
        interrupt=dice.choice(list(Interrupt)),
        max_attempts=dice.choice([1, 2]),
        foreach={"steps": steps, "items": []},
    )


class Play:
    """A deck with one foreach, to which things happen."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.writer = Writer({})
        self.count = self.dice.randint(0, 7)
        command = AddBatch(spec=foreach(self.count, self.dice))
        assert self.writer.command(command, places={}, known={}) is not None
        self.lowered = False

    def step(self, *, well: bool) -> None:
        writer, state, dice = self.writer, self.writer.state, self.dice
        live = list(state.live)
        if state.asks and (well or dice.random() < 0.3):
            ask = dice.choice(list(state.asks.values()))
            answer = ask.choices[0] if ask.choices else "left"
            writer.command(AnswerAsk(ask=ask.id, answer=answer))
        elif live and (well or dice.random() < 0.8):
            turn = dice.choice(live)
            good = well or dice.random() < 0.7
            writer.end(turn, self._good(turn) if good else self._bad(turn))
        elif well or dice.random() < 0.3:
            self._take_up_again()
        else:
            self._meddle()
        writer.commit_barriers()
        self.check()

    def _good(self, turn: int) -> Outcome:
        task = self.writer.state.tasks[self.writer.state.turns[turn].task or 0]
        return Outcome(TurnState.SUCCEEDED, exit_code=0, text=str(task.index))

    def _bad(self, turn: int) -> Outcome:
        outcome = self.dice.choice(BAD)
        task = self.writer.state.tasks[self.writer.state.turns[turn].task or 0]
        counts = task.step == len(STEPS) - 1
        return outcome if counts or outcome.state is not TurnState.SUCCEEDED else BAD[0]

    def _take_up_again(self) -> None:
        state = self.writer.state
        for turn in [t for t in state.turns.values() if t.held_by and not t.ended_ms]:
            self.writer.command(ReleaseHold(what=f"turn:{turn.id}"), folder=None)
        for task in [t for t in state.tasks.values() if t.status is Status.FAILED]:
            self.writer.command(RetryTask(task=task.key))
        self.writer.pass_time(600_000)

    def _meddle(self) -> None:
        match self.dice.randrange(3):
            case 0:
                self.writer.reopen()
            case 1:
                self.lowered = True
                self.writer.command(SetLimit(name="items:b", value=self.dice.randint(1, 3)))
            case 2 if self.writer.state.turns:
                turn = self.dice.choice(list(self.writer.state.turns))
                self.writer.command(StopTurn(turn=turn))

    def check(self) -> None:
        writer, state = self.writer, self.writer.state
        writer.check()
        items = state.foreaches["b"].standing
        most = state.limits["items:b"].value or 0
        # one that others at work wait behind is let in beside them
        shared = any(step.conversation for step in state.foreaches["b"].plan.steps)
        assert self.lowered or shared or items.active <= most
        assert shared or items.outstanding <= (state.limits["items:b/outstanding"].value or 0)
        left = [t for t in state.tasks.values() if t.index is not None]
        if state.batches["b"].committed is not None:
            assert all(task.status in (*COMPLETED, Status.FAILED) for task in left)
        kinds = [event[2] for event in writer.events]
        assert kinds.count("barrier.committed") <= 1

    def expected(self) -> dict[str, object]:
        tasks = self.writer.state.tasks.values()
        done = sorted(t.index for t in tasks if t.index is not None and t.status in COMPLETED)
        if not done:
            return {}
        return {"out": {"all": [str(index) for index in done]}, "n": sum(done)}


@settings(max_examples=75, deadline=None)
@given(st.integers(0, 10**9))
def test_the_items_of_a_foreach_keep_its_limits_and_are_committed_once(seed: int) -> None:
    play = Play(seed)
    for _ in range(30):
        play.step(well=False)
    for _ in range(400):
        batch = play.writer.state.batches["b"]
        if batch.committed is not None:
            break
        play.step(well=True)
    assert batch.committed is not None
    assert batch.state in (BatchState.COMPLETED, BatchState.COMPLETED_WITH_ERRORS)
    assert values_of(play.writer.raw, "b") == play.expected()
