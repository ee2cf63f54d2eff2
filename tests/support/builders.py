"""Small decks, built by saying only what matters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.conversation import Conversation
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.limit import GLOBAL, Limit
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import Trigger, Turn, TurnState

NOW = 1_800_000_000_000


def folder(path: str) -> Folder:
    """A folder whose key is its path, so that overlap can be read off."""
    parts = path.strip("/").split("/")
    above = tuple("/" + "/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
    return Folder(path=path, key=path.rstrip("/"), above=(*above, "/"))


class StateBuilder:
    """Puts agents, batches and turns into a state, with ids of their own."""

    def __init__(self, limit: int = 4) -> None:
        self.state = DeckState(deck="/deck")
        self.state.limits[GLOBAL] = Limit(GLOBAL, limit)

    def agent(self, name: str, limit: int | None = 1, **fields: Any) -> None:
        self.state.agents[name] = Agent(name, AgentKind.DEMO, parallelism_limit=limit, **fields)
        self.limit(f"agent:{name}", limit)

    def batch(self, name: str, limit: int | None = None, **fields: Any) -> None:
        self.state.batches[name] = Batch(id=len(self.state.batches) + 1, name=name, **fields)
        if limit is not None:
            self.limit(f"batch:{name}", limit)

    def limit(self, name: str, value: int | None) -> None:
        self.state.limits[name] = Limit(name, value)

    def task(self, batch: str, agent: str, status: Status = Status.READY, **fields: Any) -> Task:
        number = self.state.next.task
        self.state.next.task += 1
        self.state.conversations[number] = Conversation(id=number, agent=agent, task=number)
        task = Task(
            id=number,
            key=fields.pop("key", f"T{number}"),
            batch=batch,
            title=f"task {number}",
            agent=agent,
            status=status,
            conversation=number,
            position=number,
            **fields,
        )
        self.state.put_task(task)
        return task

    def turn(self, agent: str, **fields: Any) -> Turn:
        number = self.state.next.turn
        self.state.next.turn += 1
        turn = Turn(
            id=number,
            agent=agent,
            conversation=fields.pop("conversation", 10_000 + number),
            trigger=fields.pop("trigger", Trigger.TASK),
            position=fields.pop("position", number),
            queued_ms=NOW,
            **fields,
        )
        self.state.put_turn(turn)
        return turn

    def running(self, agent: str, **fields: Any) -> Turn:
        return self.turn(agent, state=TurnState.RUNNING, started_ms=NOW, attempt="a", **fields)

    def change(self, turn: Turn, **fields: Any) -> Turn:
        changed = replace(self.state.turns[turn.id], **fields)
        self.state.put_turn(changed)
        return changed


def demo_agent(name: str, limit: int | None = 1, **script: Any) -> Agent:
    """A demo agent that ends at once, unless its script says otherwise."""
    return Agent(
        name,
        AgentKind.DEMO,
        parallelism_limit=limit,
        script={"seconds": 0, "lines": 0, **script},
    )


def batch_spec(
    name: str,
    tasks: Iterable[TaskSpec],
    agents: Iterable[Agent],
    limits: Mapping[str, int | None] | None = None,
    **fields: Any,
) -> BatchSpec:
    """A batch as a file would ask for it."""
    return BatchSpec(
        name=name,
        tasks=tuple(tasks),
        agents={agent.name: agent for agent in agents},
        limits=tuple(Limit(key, value, origin="test") for key, value in (limits or {}).items()),
        **fields,
    )
