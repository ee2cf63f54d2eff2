"""Hundreds of turns whose time comes at once: a crash at any of them loses and doubles none."""

from __future__ import annotations

import pytest

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.commands import AddBatch, SetLimit
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from tests.core.deck.writer import Writer
from tests.support.builders import batch_spec, demo_agent

MANY = 503
AGENTS = [f"a{n}" for n in range(4)]
LONGEST_BACKOFF_MS = 10_000


def retries_waiting() -> Writer:
    """A deck on which every task has failed once and waits for its second try."""
    writer = Writer({})
    tasks = [TaskSpec(f"T{n}", AGENTS[n % len(AGENTS)]) for n in range(MANY)]
    agents = [demo_agent(name, 10) for name in AGENTS]
    writer.command(SetLimit(name="global", value=32))
    spec = batch_spec("b", tasks, agents, max_attempts=2)
    assert writer.command(AddBatch(spec=spec), places={}, known={}) is not None
    while writer.state.live:
        writer.end(min(writer.state.live), Outcome(TurnState.FAILED, exit_code=1))
    return writer


@pytest.mark.parametrize("begun", [0, 1, 500])
def test_a_crash_when_many_become_due_loses_and_doubles_none(begun: int) -> None:
    writer = retries_waiting()
    waiting = [t for t in writer.state.turns.values() if t.state is TurnState.QUEUED]
    assert len(waiting) == MANY
    assert all(turn.not_before_ms > writer.now_ms for turn in waiting)
    if begun == 0:
        writer.now_ms += LONGEST_BACKOFF_MS  # due, and nobody has looked yet
    else:
        writer.pass_time(LONGEST_BACKOFF_MS)
    for _ in range(max(0, begun - 1)):
        writer.end(min(writer.state.live), Outcome(TurnState.SUCCEEDED, exit_code=0))
    writer.reopen()
    writer.check()
    while writer.state.live:
        writer.end(min(writer.state.live), Outcome(TurnState.SUCCEEDED, exit_code=0))
    writer.check()
    retries = [t for t in writer.state.turns.values() if t.trigger is Trigger.RETRY]
    assert len(retries) == MANY
    assert {turn.state for turn in retries} == {TurnState.SUCCEEDED}
    assert {turn.attempts for turn in retries} == {2}, "the second try is the second attempt"
    assert {task.status for task in writer.state.tasks.values()} == {Status.DONE}
