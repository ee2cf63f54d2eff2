"""Agents' definitions: added, changed, and checked against those in use."""

from __future__ import annotations

import json
from dataclasses import replace

from batchdeck.core.commands import DefineAgent, Receipt, RemoveAgent
from batchdeck.core.deck.handling.limits import number_words, put_limit
from batchdeck.core.deck.permitting import forget_allowances, is_another_program
from batchdeck.core.deck.state import DeckState
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BadInput, NotFound, Refused
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.limit import Limit, agent_limit
from batchdeck.core.model.task import SETTLED
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.limits import UNSUPPORTED
from batchdeck.core.store import changes as sql
from batchdeck.core.store.rows import agent_document
from batchdeck.core.text import counted


def same_definition(one: Agent, other: Agent) -> bool:
    """Whether two definitions are the same but for their version."""
    return replace(one, version=0) == replace(other, version=0)


def contradiction(state: DeckState, agent: Agent, other_than: str) -> str | None:
    """The name of another active batch that uses this agent under a different definition."""
    stored = state.agents.get(agent.name)
    if stored is None or same_definition(stored, agent):
        return None
    for task in state.tasks.values():
        if task.agent != agent.name or task.batch == other_than or task.status in SETTLED:
            continue
        if state.batches[task.batch].state is BatchState.RUNNING:
            return task.batch
    return None


def save_agent(work: Work, agent: Agent, origin: str) -> None:
    """Stores a new or changed definition, and its limit unless a person has set one."""
    stored = work.state.agents.get(agent.name)
    if stored is not None and same_definition(stored, agent):
        return
    if stored is not None and is_another_program(stored, agent):
        forget_allowances(work, agent.name)
    agent = replace(agent, version=1 if stored is None else stored.version + 1)
    work.state.agents[agent.name] = agent
    work.state.touch("agents")
    row = (agent.name, json.dumps(agent_document(agent)), agent.version, origin, work.now_ms, 0)
    work.changes.add(sql.SAVE_AGENT, row)
    name = agent_limit(agent.name)
    limit = work.state.limits.get(name)
    if limit is None or not limit.explicit:
        limit = Limit(name, agent.parallelism_limit, "", work.now_ms, origin=origin)
    put_limit(work, limit)


def define_agent(work: Work, command: DefineAgent, folder: Folder | None) -> Receipt:
    """Adds or changes an agent of the deck. `folder`: the identity of the one it names.

    Raises:
        BadInput: it exists already, or cannot have the limit it asks for.
        NotFound: it does not exist.
    """
    agent = command.agent
    exists = agent.name in work.state.agents
    if command.create and exists:
        raise BadInput(f"There is an agent {agent.name!r} already; use agent edit.")
    if not command.create and not exists:
        raise NotFound(f"There is no agent {agent.name!r} to edit.")
    using = contradiction(work.state, agent, other_than="")
    if using is not None and command.unless_in_use:
        raise BadInput(f"{agent.name} is in use by {using}, under another definition.")
    if agent.one_at_a_time and agent.parallelism_limit not in (None, 0, 1):
        raise BadInput(f"{agent.name} runs one turn at a time.", code=UNSUPPORTED)
    before = work.state.agents.get(agent.name)
    save_agent(work, agent, origin=f"agent {'add' if command.create else 'edit'}")
    if before is not None and before.folder != agent.folder:
        _move_what_waits(work, agent, folder)
    limit = "" if before is None else _limit_in_force(work, before, command)
    done = "edited" if exists else "added"
    return Receipt(accepted=True, message=f"agent {agent.name} {done}{limit}")


def _limit_in_force(work: Work, before: Agent, command: DefineAgent) -> str:
    """Another limit in the definition is in force at once, whoever set the one before.

    Returns what to say of one that was set otherwise and stays.
    """
    wanted = command.agent.parallelism_limit
    limit = work.state.limits[agent_limit(before.name)]
    if limit.value == wanted:
        return ""
    if before.parallelism_limit == wanted:
        how = f"batchdeck limit {limit.name}={'none' if wanted is None else wanted} changes it"
        return f"; its limit stays {number_words(limit.value)}, as it was set ({how})"
    changed = replace(limit, value=wanted, changed_by=command.by, changed_ms=work.now_ms)
    put_limit(work, replace(changed, origin="agent edit"))
    return ""


def _move_what_waits(work: Work, agent: Agent, folder: Folder | None) -> None:
    """What works where its agent does will work in the new place; a session stays in its own."""
    if folder is not None:
        work.know_folder(folder)
    for turn in list(work.state.turns.values()):
        if turn.agent != agent.name or turn.state is not TurnState.QUEUED:
            continue
        task = None if turn.task is None else work.state.tasks[turn.task]
        has_own = task is not None and (task.folder is not None or task.index is not None)
        if not has_own and work.state.conversations[turn.conversation].session is None:
            work.requeue_changed(replace(turn, folder=folder))


def remove_agent(work: Work, command: RemoveAgent) -> Receipt:
    """Takes an agent's definition away.

    Raises:
        NotFound: it does not exist.
        Refused: a task or turn of it is unfinished.
    """
    name = command.name
    agent = work.state.agents.get(name)
    if agent is None:
        raise NotFound(f"There is no agent {name!r}.")
    tasks = [
        t.key for t in work.state.tasks.values() if t.agent == name and t.status not in SETTLED
    ]
    turns = [t.id for t in work.state.turns.values() if t.agent == name and t.ended_ms is None]
    if tasks or turns:
        left = f"{counted(len(tasks), 'task')} and {counted(len(turns), 'turn')}"
        raise Refused(f"{name} still has {left} to end.")
    del work.state.agents[name]
    work.state.touch("agents")
    forget_allowances(work, name)
    row = (name, json.dumps(agent_document(agent)), agent.version, "removed", work.now_ms, 1)
    work.changes.add(sql.SAVE_AGENT, row)
    work.emit("agent.removed", agent=name, by=command.by)
    return Receipt(accepted=True, message=f"agent {name} removed")
