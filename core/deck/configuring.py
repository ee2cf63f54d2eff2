"""The configuration while a deck is open: changed files are read again, faulty ones are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import anyio
import anyio.to_thread

from batchdeck.core.commands import DefineAgent, DefineFolders
from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.options import Configuration
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.agent import Agent

LOOK_SECONDS = 5.0
"""How often the files are looked at."""
BY = "config.yaml"


async def define_agents(engine: Engine, agents: Iterable[Agent]) -> None:
    """Takes agents over; one that contradicts an active batch's keeps its definition."""
    for agent in agents:
        create = agent.name not in engine.view.agents
        await engine.submit(DefineAgent(agent=agent, create=create, unless_in_use=True, by=BY))


async def define_folders(engine: Engine, folders: Mapping[str, str]) -> None:
    """Takes names of folders over; one that is not among them any more is deleted."""
    if engine.memory.state.defined_folders != folders:
        await engine.submit(DefineFolders(folders=dict(folders), by=BY))


async def follow(engine: Engine, configuration: Configuration) -> None:
    """Takes over the agents of changed files; what else they say counts from the next start.

    What was good before stays in force while a file is faulty, and the screens say so.
    """
    while True:
        await anyio.sleep(LOOK_SECONDS)
        if not await anyio.to_thread.run_sync(configuration.have_changed):
            continue
        try:
            agents = await anyio.to_thread.run_sync(configuration.agents)
        except BatchdeckError as error:
            engine.show_remark(
                f"{_in_a_line(error)}. The configuration that was good before stays in force."
            )
        else:
            engine.show_remark(None)
            await define_agents(engine, agents)


def _in_a_line(error: BatchdeckError) -> str:
    """The first fault, and where all of them are told."""
    first, *others = error.message.splitlines()
    more = f" (and {len(others)} more: batchdeck doctor)" if others else ""
    return first.rstrip(".") + more
