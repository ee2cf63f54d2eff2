"""What a person has ended waits for a person, whatever the end of its process says."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.commands import StopTurn
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("end", [TurnState.FAILED, TurnState.INCOMPLETE])
async def test_what_a_person_stopped_waits_for_one_whatever_its_end_says(
    tmp_path: Path, end: TurnState
) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)], max_attempts=2))
        await here.puppets.until_begun(1)
        here.puppets.when_stopped(1, end)
        await here.deck.submit(StopTurn(turn=1, by="op"))
        view = here.view
        assert view.turns[1].state is end
        assert (view.tasks[1].status, view.tasks[1].attempts) == (Status.READY, 0)
        again = view.turns[view.tasks[1].turn or 0]
        assert (again.held_by, again.trigger, again.not_before_ms) == ("op", Trigger.TASK, 0)
        assert here.view.running == 0


async def test_what_a_person_cancelled_has_failed_whatever_its_end_says(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)], max_attempts=2))
        await here.puppets.until_begun(1)
        here.puppets.when_stopped(1, TurnState.FAILED)
        await here.deck.submit(StopTurn(turn=1, for_good=True))
        assert here.view.tasks[1].status is Status.FAILED
        assert here.view.queued == 0
