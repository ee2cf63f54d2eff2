"""Whatever is done to a deck, in whatever order, the invariants hold after each step.

`--at-length` takes 200,000 steps, `BATCHDECK_STEPS=…` as many as it says.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from batchdeck.core.agents.adapter import Outcome, Question
from batchdeck.core.commands import (
    AddBatch,
    AnswerAsk,
    AnswerBlocker,
    BlockTask,
    Drain,
    MoveTurn,
    OnBusy,
    PutHold,
    ReleaseHold,
    ResumeBatch,
    RetargetTurn,
    RetryTask,
    Send,
    SendNow,
    SetLimit,
    SetStatus,
    StopTurn,
)
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.batch import OnError
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import COMPLETED, Status
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.rules.reconciling import Finding, FindingKind
from batchdeck.core.rules.reordering import Where
from tests.core.deck.model import Model
from tests.core.deck.telling import compare, tell
from tests.core.deck.writer import Writer
from tests.support.builders import batch_spec, demo_agent, folder
from tests.support.length import so_many

STEPS = int(os.environ.get("BATCHDECK_STEPS") or so_many(4_000, 200_000))
PER_EXAMPLE = 50
AGENTS = ("a", "b", "c")
PATHS = ("/w", "/w/x", "/w/x/y", "/v")
OUTCOMES = {
    "succeeded": Outcome(TurnState.SUCCEEDED, exit_code=0, text="done"),
    "failed": Outcome(TurnState.FAILED, exit_code=1, error="no"),
    "incomplete": Outcome(TurnState.INCOMPLETE, exit_code=0, error="cut"),
    "asks": Outcome(TurnState.WAITING, question=Question("which?")),
    "fenced": Outcome(TurnState.QUEUED, AttemptEnd.FENCED),
    "lost, ask": Outcome(TurnState.LOST, AttemptEnd.LOST, error="lost", if_lost="ask"),
    "lost, retry": Outcome(TurnState.LOST, AttemptEnd.LOST, error="lost", if_lost="retry"),
    "lost, fail": Outcome(TurnState.LOST, AttemptEnd.LOST, error="lost", if_lost="fail"),
    "limited": Outcome(TurnState.FAILED, error="used up", limited=UsageLimit("used up")),
    "limited, said": Outcome(
        TurnState.FAILED, error="used up", limited=UsageLimit("used up", after_seconds=1)
    ),
    "not there": Outcome(TurnState.FAILED, error="no such program", surroundings="agent"),
    "stopped": Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, exit_code=-15, error="stopped"),
}
task_specs = st.lists(
    st.fixed_dictionaries(
        {
            "agent": st.sampled_from(AGENTS),
            "folder": st.sampled_from((None, None, *PATHS)),
            "target": st.sampled_from((None, None, "t1", "t2")),
            "priority": st.sampled_from((0, 0, 5)),
            "status": st.sampled_from((Status.READY, Status.READY, Status.BACKLOG)),
            "needs": st.lists(st.integers(0, 5), max_size=2),
        }
    ),
    min_size=1,
    max_size=5,
)


class Deck(RuleBasedStateMachine):
    """A deck, with a model beside it that is told what was acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.writer = Writer({path: folder(path) for path in PATHS})
        self.model = Model(limits={"global": 4})
        self.batches = 0
        self.told = 0

    # -- what may be done

    @rule(tasks=task_specs, on_error=st.sampled_from(OnError), attempts=st.integers(1, 2))
    def add_batch(self, tasks: list[dict[str, Any]], on_error: OnError, attempts: int) -> None:
        if self.batches == 4:
            return
        self.batches += 1
        specs = []
        for number, wanted in enumerate(tasks):
            needs = {f"T{need}" for need in wanted.pop("needs") if need < number}
            specs.append(TaskSpec(f"T{number}", depends_on=tuple(sorted(needs)), **wanted))
        spec = batch_spec(
            f"b{self.batches}",
            specs,
            [
                replace(demo_agent("a", 2), account="team"),
                replace(demo_agent("b", 1), account="team"),
                demo_agent("c", None),
            ],
            on_error=on_error,
            max_attempts=attempts,
        )
        places = self.writer.places
        receipt = self.writer.command(AddBatch(spec=spec), places=places, known={})
        assert receipt is not None
        self.model.tasks |= {f"{spec.name}/{task.key}" for task in specs}
        self.model.limits |= (
            {"agent:a": 2, "agent:b": 1, "agent:c": 10} if (self.batches == 1) else {}
        )

    @precondition(lambda self: self.batches)
    @rule(
        to=st.sampled_from((*AGENTS, "b1/T0", "b2/T1")),
        on_busy=st.sampled_from((None, *OnBusy)),
        key=st.sampled_from((None, None, "t1")),
    )
    def send(self, to: str, on_busy: OnBusy | None, key: str | None) -> None:
        command = Send(to=to, text="hello", on_busy=on_busy, target=key)
        self.writer.command(command, folder=None, earlier=None)

    @precondition(lambda self: self.batches)
    @rule(
        name=st.sampled_from(("global", "agent:a", "agent:b", "batch:b1")),
        value=st.integers(0, 5),
    )
    def set_limit(self, name: str, value: int) -> None:
        if self.writer.command(SetLimit(name=name, value=value)) is not None:
            self.model.limits[name] = value

    @precondition(lambda self: self.writer.state.live)
    @rule(data=st.data(), how=st.sampled_from(sorted(OUTCOMES)))
    def end(self, data: st.DataObject, how: str) -> None:
        turn = data.draw(st.sampled_from(sorted(self.writer.state.live)))
        self.writer.end(turn, OUTCOMES[how])

    @precondition(lambda self: self.writer.state.turns)
    @rule(data=st.data())
    def stop(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(sorted(self.writer.state.turns)))
        self.writer.command(StopTurn(turn=turn, by="op"))

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data(), status=st.sampled_from(Status))
    def set_status(self, data: st.DataObject, status: Status) -> None:
        task = data.draw(st.sampled_from(sorted(self.model.tasks)))
        self.writer.command(SetStatus(task=task, status=status, by="op"))

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(sorted(self.model.tasks)))
        self.writer.command(RetryTask(task=task, by="op"))

    @precondition(lambda self: self.writer.state.asks)
    @rule(data=st.data(), answer=st.sampled_from(("retry", "fail")))
    def answer(self, data: st.DataObject, answer: str) -> None:
        ask = data.draw(st.sampled_from(sorted(self.writer.state.asks)))
        self.writer.command(AnswerAsk(ask=ask, answer=answer, by="op"))

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data(), answer=st.sampled_from((None, "yes")), on=st.booleans())
    def block(self, data: st.DataObject, answer: str | None, on: bool) -> None:
        task = data.draw(st.sampled_from(sorted(self.model.tasks)))
        if on:
            self.writer.command(BlockTask(task=task, question="which?", by="op"))
        else:
            self.writer.command(AnswerBlocker(task=task, answer=answer, by="op"))

    @precondition(lambda self: self.model.tasks)
    @rule(
        data=st.data(),
        kind=st.sampled_from(FindingKind),
        move=st.sampled_from((Status.DONE, Status.FAILED, Status.MERGED, Status.READY)),
        is_late=st.booleans(),
    )
    def find_outside(
        self, data: st.DataObject, kind: FindingKind, move: Status, is_late: bool
    ) -> None:
        """Somebody else did something; what was seen may have changed since."""
        task = self.writer.state.tasks[data.draw(st.sampled_from(sorted(self.writer.state.tasks)))]
        turn = None if is_late else task.turn
        if kind is FindingKind.DONE and task.status not in COMPLETED:
            return  # only what is completed is found so
        self.writer.find(Finding(kind, task.id, task.status, turn, move, f"{move} once", "closed"))

    @precondition(lambda self: self.writer.state.turns)
    @rule(
        data=st.data(),
        how=st.sampled_from(("first", "down", "now", "delete", *AGENTS)),
    )
    def operate_on_the_queue(self, data: st.DataObject, how: str) -> None:
        turn = data.draw(st.sampled_from(sorted(self.writer.state.turns)))
        if how == "now":
            self.writer.command(SendNow(turn=turn))
        elif how == "delete":
            self.writer.command(StopTurn(turn=turn, only_queued=True))
        elif how in AGENTS:
            self.writer.command(RetargetTurn(turn=turn, agent=how), folder=None)
        else:
            self.writer.command(MoveTurn(turn=turn, where=Where(how)))

    @rule(
        what=st.sampled_from(
            ("deck", *(f"agent:{name}" for name in AGENTS), "batch:b1", "account:team", "account:c")
        ),
        on=st.booleans(),
    )
    def hold(self, what: str, on: bool) -> None:
        command = PutHold(what=what, by="op") if on else ReleaseHold(what=what, by="op")
        self.writer.command(command, folder=None)

    @precondition(lambda self: self.writer.state.turns)
    @rule(data=st.data(), on=st.booleans())
    def hold_turn(self, data: st.DataObject, on: bool) -> None:
        what = f"#{data.draw(st.sampled_from(sorted(self.writer.state.turns)))}"
        command = PutHold(what=what, by="op") if on else ReleaseHold(what=what, by="op")
        self.writer.command(command, folder=None)

    @rule(on=st.booleans())
    def drain(self, on: bool) -> None:
        self.writer.command(Drain(on=on, by="op"))

    @precondition(lambda self: self.batches)
    @rule()
    def resume(self) -> None:
        self.writer.command(ResumeBatch(by="op"))

    @rule(milliseconds=st.sampled_from((1_000, 600_000, 86_400_000, -3_600_000)))
    def pass_time(self, milliseconds: int) -> None:
        self.writer.pass_time(milliseconds)

    @rule()
    def crash(self) -> None:
        self.writer.reopen()

    # -- what must hold

    @invariant()
    def everything_holds(self) -> None:
        self.writer.check()
        events, self.told = self.writer.events[self.told :], len(self.writer.events)
        tell(self.model, self.writer.state, events)
        compare(self.model, self.writer.state)


TestDeck = Deck.TestCase
TestDeck.settings = settings(
    max_examples=max(1, STEPS // PER_EXAMPLE),
    stateful_step_count=PER_EXAMPLE,
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
