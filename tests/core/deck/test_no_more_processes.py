"""A machine that makes no more processes is asked once, and costs nobody an attempt."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from batchdeck.core.agents.command import CommandAgent
from batchdeck.core.commands import AddBatch
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.paths import DeckPaths
from tests.core.agents.support import command_agent
from tests.support.builders import batch_spec

pytestmark = pytest.mark.anyio


async def test_a_fork_that_is_refused_holds_the_agent_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def refused(*given: object, **more: object) -> int:
        tries.append(given)
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "posix_spawn", refused)
    options = DeckOptions(sweep_seconds=0.05)
    adapters = {AgentKind.COMMAND: CommandAgent(LocalExecutor())}
    tasks = [TaskSpec(f"T{n}", "coder", prompt="say=x") for n in range(3)]
    async with open_deck(DeckPaths(tmp_path / ".batchdeck"), options, adapters) as deck:
        await deck.submit(AddBatch(spec=batch_spec("b", tasks, [command_agent()])))
        view = deck.view
        while "agent:coder" not in view.holds:
            view = await deck.wait_newer(view.revision)
        for _ in range(3):
            await deck.audit()
        assert len(tries) == 1
        assert os.strerror(errno.EAGAIN) in view.holds["agent:coder"].reason
        assert {task.status for task in deck.view.tasks.values()} == {Status.READY}
        assert {task.attempts for task in deck.view.tasks.values()} == {0}
        assert {turn.attempts for turn in deck.view.turns.values()} == {0}
