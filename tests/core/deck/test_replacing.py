"""The message of a running turn is replaced: the turn is interrupted, and the new one goes next."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest

from batchdeck.core.agents.acp import AcpAgent
from batchdeck.core.commands import AddBatch, ReleaseHold, Send
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio
AGENT = Path(__file__).parents[2] / "support" / "acp_agent.py"
PATIENCE = 30


async def working(here: Bench, limit: int = 1, tasks: int = 2) -> None:
    specs = [TaskSpec(f"T{n}", "a") for n in range(1, tasks + 1)]
    await here.add(batch_spec("b", specs, [demo_agent("a", limit)]))
    await here.puppets.until_begun(*range(1, limit + 1))


async def test_the_message_goes_next_and_the_stopped_task_stays_held_behind_it(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await working(here)
        sent = await here.deck.submit(Send(to="T1", text="not so", replacing=1, by="op"))
        assert (sent.accepted, sent.turn) == (True, 3)
        await here.puppets.until_begun(3)
        view = here.view
        assert view.turns[1].state is TurnState.CANCELLED
        assert here.puppets.assignments[3].prompt == "not so"
        again = view.tasks[1].turn
        assert again is not None
        assert (view.tasks[1].status, view.turns[again].held_by) == (Status.READY, "op")
        assert view.turns[2].state is TurnState.QUEUED, "nobody else got the slot"
        await here.end(3)
        await here.deck.submit(ReleaseHold(what=f"turn:{again}"))
        await here.end(2)
        await here.puppets.until_begun(again)


async def test_a_new_conversation_may_replace_what_is_at_work_too(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await working(here)
        sent = await here.deck.submit(Send(to="a", text="this first", replacing=1))
        assert sent.turn is not None
        await here.puppets.until_begun(sent.turn)
        assert here.view.turns[1].state is TurnState.CANCELLED


async def test_it_is_refused_where_that_turn_is_not_all_that_is_in_the_way(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await working(here, tasks=1)
        refused = await here.deck.submit(Send(to="T1", text="one", replacing=9))
        assert refused.exit_code == 3
        assert "#9 does not run any more" in refused.message
        await here.add(batch_spec("c", [TaskSpec("U1", "c")], [demo_agent("c", 1)]))
        await here.puppets.until_begun(2)
        other = await here.deck.submit(Send(to="U1", text="two", replacing=1))
        assert "#1 is not all that is in the way" in other.message
        assert here.view.turns[1].state is TurnState.RUNNING
        assert len(here.view.turns) == 2


async def test_where_it_has_ended_meanwhile_the_message_simply_goes(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await working(here, tasks=1)
        await here.end(1)
        sent = await here.deck.submit(Send(to="T1", text="one more thing", replacing=1))
        assert sent.state is TurnState.RUNNING


async def test_an_acp_agent_is_interrupted_by_its_protocol_and_goes_on_in_its_session(
    tmp_path: Path,
) -> None:
    agent = Agent("a", AgentKind.ACP, command=(sys.executable, str(AGENT)))
    spec = batch_spec("b", [TaskSpec("T1", "a", prompt="say busy\nwait")], [agent])
    adapters = {AgentKind.ACP: AcpAgent(LocalExecutor())}
    with anyio.fail_after(PATIENCE):
        async with open_deck(DeckPaths(tmp_path / ".batchdeck"), DeckOptions(), adapters) as deck:
            await deck.submit(AddBatch(spec=spec))
            while b"busy" not in (await deck.output(1)).data:
                await anyio.sleep(0.02)
            sent = await deck.submit(Send(to="T1", text="loaded", replacing=1))
            assert sent.turn is not None
            view = deck.view
            while view.turns[sent.turn].ended_ms is None:
                view = await deck.wait_newer(view.revision)
            first, second = view.turns[1], view.turns[sent.turn]
            assert first.ended_ms is not None
            assert first.ended_ms - (first.started_ms or 0) < 20_000, "it heard the cancel"
            assert (first.state, second.state) == (TurnState.CANCELLED, TurnState.SUCCEEDED)
            said = [message.text for message in await deck.messages(first.conversation)]
            session = json.loads((await deck.output(1)).data.splitlines()[0])["params"]["sessionId"]
            assert said[-1] == session
