"""A stop at the moment an agent ends: each turn has one end, and a success before it stays one."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import anyio
import pytest

from batchdeck.core.agents.command import CommandAgent
from batchdeck.core.commands import AddBatch, StopTurn
from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from tests.core.agents.support import command_agent
from tests.support.builders import batch_spec
from tests.support.length import so_many

pytestmark = [pytest.mark.anyio, pytest.mark.crash]

ENDS = ("exit=0", "exit=1", "trap=TERM sleep=0.05 exit=0")
TURNS = so_many(60, 1_000)
AGENT_SECONDS = 0.12
"""About as long as an agent takes to load and to end."""


async def stop_at_some_time(deck: Engine, turn: int, dice: random.Random) -> None:
    view = deck.view
    while turn not in view.live and view.turns[turn].ended_ms is None:
        view = await deck.wait_newer(view.revision)
    await anyio.sleep(dice.uniform(0, 2 * AGENT_SECONDS))
    await deck.submit(StopTurn(turn=turn, by="op"))


async def test_a_stop_that_meets_an_end_makes_one_end(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    tasks = [TaskSpec(f"T{n}", "coder", prompt=dice.choice(ENDS)) for n in range(TURNS)]
    agent = command_agent(parallelism_limit=4)
    options = DeckOptions(environment={"PATH": "/usr/bin:/bin"})
    adapters = {AgentKind.COMMAND: CommandAgent(LocalExecutor())}
    async with open_deck(DeckPaths(tmp_path / ".batchdeck"), options, adapters) as deck:
        added = await deck.submit(AddBatch(spec=batch_spec("b", tasks, [agent])))
        assert added.accepted, added.message
        turns = sorted(deck.view.turns)
        async with anyio.create_task_group() as seats:
            for turn in turns:
                seats.start_soon(stop_at_some_time, deck, turn, dice)
        await deck.audit()
        assert deck.view.violations == ()
        events = [event for event in await deck.events(0, 100_000) if event.turn in turns]
        states = {turn: deck.view.turns[turn].state for turn in turns}
    finished = Counter(event.turn for event in events if event.kind == "turn.finished")
    assert finished == dict.fromkeys(turns, 1)
    codes = {
        event.turn: event.fields["exit_code"] for event in events if "exit_code" in event.fields
    }
    for turn, state in states.items():
        assert state in (TurnState.SUCCEEDED, TurnState.FAILED, TurnState.CANCELLED)
        assert state is not TurnState.SUCCEEDED or codes[turn] == 0
    print(Counter(str(state) for state in states.values()))
    assert len(set(states.values())) > 1, "some were stopped and some were not"
