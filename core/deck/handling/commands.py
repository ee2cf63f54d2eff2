"""From each kind of command to what carries it out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import anyio.to_thread

from batchdeck.core.answer_check import check_answer
from batchdeck.core.commands import (
    AddBatch,
    AddTask,
    AnswerAsk,
    AnswerBlocker,
    BlockTask,
    Command,
    DefineAgent,
    DefineFolders,
    Drain,
    EditTurn,
    GatherReady,
    MergeTurns,
    MoveTurn,
    OnBusy,
    PutHold,
    Receipt,
    ReleaseHold,
    RemoveAgent,
    ResumeBatch,
    RetargetTurn,
    RetryTask,
    RevokeAllowance,
    Send,
    SendNow,
    SetLimit,
    SetStatus,
    StopAll,
    StopTurn,
)
from batchdeck.core.deck.handling import (
    adding,
    agents,
    answers,
    batches,
    controls,
    folders,
    gathering,
    limits,
    messages,
    surgery,
)
from batchdeck.core.deck.handling.finding import find_task
from batchdeck.core.deck.permitting import revoke
from batchdeck.core.deck.reading import Reader
from batchdeck.core.deck.state import DeckState
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BadInput
from batchdeck.core.executors.places import identify
from batchdeck.core.model.blocker import BlockerState
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.hold import read_hold_name

Found = Mapping[str, Any]
"""What was looked up before the writer's turn: rows on disk, identities of folders."""


async def look_up(command: Command, state: DeckState, reader: Reader) -> Found:
    """Everything a command needs that takes time; the writer itself waits for nothing.

    Raises:
        BadInput: the command is not well formed.
    """
    found = await _looked_up(command, state, reader)
    identified = [*found.get("places", {}).values(), found.get("folder")]
    elsewhere = [folder for folder in identified if folder and _has_other_path(folder, state)]
    if not elsewhere:
        return found
    known = state.folder_paths
    return {**found, "renamed": await anyio.to_thread.run_sync(_renamed, elsewhere, dict(known))}


def _has_other_path(folder: Folder, state: DeckState) -> bool:
    return state.folder_paths.get(folder.key, folder.path) != folder.path


def _renamed(folders: Iterable[Folder], paths: Mapping[str, str]) -> list[Folder]:
    """Those that are not found any more by the path they were known by: no second spelling."""
    return [folder for folder in folders if identify(paths[folder.key]).key != folder.key]


async def _looked_up(command: Command, state: DeckState, reader: Reader) -> Found:
    if isinstance(command, Send):
        return await _for_message(command, state, reader)
    if isinstance(command, AddBatch):
        await _check_foreaches(command.spec.name, state, reader)
        return await _for_batch(command, state, reader)
    if isinstance(command, ResumeBatch):
        await _check_foreaches(command.batch, state, reader)
    if isinstance(command, PutHold | ReleaseHold):
        kind, name = read_hold_name(command.what)
        return {"folder": await _held_folder(name, state) if kind == "folder" else None}
    if isinstance(command, AddTask):
        return await _for_task(command, state, reader)
    if isinstance(command, AnswerAsk | AnswerBlocker):
        await _check(command, state)
    if isinstance(command, RetargetTurn):
        return {"folder": await _folder_of_agent(command.agent, state)}
    if isinstance(command, DefineFolders):
        return {"places": await _agents_own(command, state)}
    if isinstance(command, DefineAgent):
        return {"folder": await _identified(command.agent.folder, state)}
    if isinstance(command, MergeTurns):
        edits = {turn: state.edited.get(turn, 0) for turn in command.turns}
        words = {turn: await reader.message_text(turn) for turn in command.turns}
        return {"texts": surgery.Texts(words, edits)}
    return {}


async def _check(command: AnswerAsk | AnswerBlocker, state: DeckState) -> None:
    """Holds an answer against its question: in a thread, for the schema is an agent's."""
    if isinstance(command, AnswerAsk):
        asked: int | None = command.ask
    else:
        task = find_task(state, command.task)
        opened = [b for b in state.blockers_of(task.id) if b.state is BlockerState.OPEN]
        named = [b for b in opened if command.blocker in (None, b.id)]
        asked = named[0].ask if len(named) == 1 else None
    ask = state.asks.get(-1 if asked is None else asked)
    if ask is not None and command.answer is not None:
        await anyio.to_thread.run_sync(check_answer, ask, command.answer)


async def _check_foreaches(name: str | None, state: DeckState, reader: Reader) -> None:
    """
    Raises:
        StoreError: what is stored of a batch's foreach makes no sense.
    """
    for batch in [state.batches.get(name)] if name is not None else list(state.batches.values()):
        if batch is not None and (batch.foreach is not None or batch.broken is not None):
            await reader.check_foreach(batch)


async def _held_folder(name: str, state: DeckState) -> Folder:
    """The folder as it is now; `name` is its path, or the key that it was held under."""
    hold = state.holds.get(f"folder:{name}")
    path = name if hold is None or hold.path is None else hold.path
    return await anyio.to_thread.run_sync(identify, path)


async def _for_message(command: Send, state: DeckState, reader: Reader) -> Found:
    if command.on_busy is not None and command.on_busy not in tuple(OnBusy):
        raise BadInput(f"on_busy cannot be {command.on_busy!r}.", code="on_busy_invalid")
    folder = await _folder_of_agent(command.to, state)
    earlier = None
    if command.delivery_id is not None:
        earlier = await reader.delivered(command.delivery_id)
    conversation = messages.conversation_named(state, command.to)
    latest = None if conversation is None else await reader.latest_turn(conversation)
    return {"folder": folder, "earlier": earlier, "latest": latest}


async def _folder_of_agent(name: str, state: DeckState) -> Folder | None:
    agent = state.agents.get(name)
    return await _identified(None if agent is None else agent.folder, state)


async def _identified(named: str | None, state: DeckState) -> Folder | None:
    if named is None:
        return None
    path = state.defined_folders.get(named, named)
    return await anyio.to_thread.run_sync(identify, path)


async def _agents_own(command: DefineFolders, state: DeckState) -> dict[str, Folder]:
    """The folders that agents have of their own, by path."""
    named = [agent.folder for agent in state.agents.values() if agent.folder is not None]
    paths = [command.folders.get(name, name) for name in named if name not in _gone(command, state)]
    return await anyio.to_thread.run_sync(_identify_all, paths)


def _gone(command: DefineFolders, state: DeckState) -> set[str]:
    return set(state.defined_folders) - set(command.folders)


async def _for_batch(command: AddBatch, state: DeckState, reader: Reader) -> Found:
    spec = command.spec
    names = {task.folder for task in spec.tasks} | {agent.folder for agent in spec.agents.values()}
    names |= {agent.folder for agent in state.agents.values()}
    names |= set(spec.folders_of_steps)
    defined = {**state.defined_folders, **spec.folders}
    paths = {defined.get(name, name) for name in names if name is not None}
    return {
        "places": await anyio.to_thread.run_sync(_identify_all, paths),
        "known": await reader.fingerprints(spec.name),
    }


async def _for_task(command: AddTask, state: DeckState, reader: Reader) -> Found:
    agent = state.agents.get(command.task.agent)
    names = (command.task.folder, None if agent is None else agent.folder)
    paths = [state.defined_folders.get(name, name) for name in names if name is not None]
    earlier = None
    if command.delivery_id is not None:
        earlier = await reader.delivered(command.delivery_id)
    places = await anyio.to_thread.run_sync(_identify_all, paths)
    return {"places": places, "earlier": earlier}


def _identify_all(paths: Iterable[str]) -> dict[str, Folder]:
    return {path: identify(path) for path in paths}


def carry_out(command: Command, work: Work, found: Found) -> Receipt:
    """Does what a command asks.

    Raises:
        BatchdeckError: it cannot be done; nothing was changed.
    """
    receipt = _carry_out(command, work, found)
    for folder in found.get("renamed", ()):
        work.rename_folder(folder)
    return receipt


def _carry_out(command: Command, work: Work, found: Found) -> Receipt:
    match command:
        case Send():
            return messages.send(
                work, command, found["folder"], found["earlier"], found.get("latest")
            )
        case SetLimit():
            return limits.set_limit(work, command)
        case AddBatch():
            return batches.add_batch(work, command, found["places"], found["known"])
        case ResumeBatch():
            return batches.resume(work, command)
        case GatherReady():
            return gathering.gather_ready(work, command)
        case MoveTurn():
            return surgery.move(work, command)
        case EditTurn():
            return surgery.edit(work, command)
        case MergeTurns():
            return surgery.merge(work, command, found["texts"])
        case RetargetTurn():
            return surgery.retarget(work, command, found["folder"])
        case SendNow():
            return surgery.send_now(work, command)
        case StopTurn():
            return controls.stop(work, command)
        case StopAll():
            return controls.stop_all(work, command)
        case PutHold():
            return controls.hold(work, command, found["folder"])
        case ReleaseHold():
            return controls.release(work, command, found["folder"])
        case Drain():
            return controls.drain(work, command)
        case RetryTask():
            return controls.retry(work, command)
        case SetStatus():
            return controls.set_task_status(work, command)
        case AnswerAsk():
            return answers.answer(work, command)
        case RevokeAllowance():
            return revoke(work, command)
        case BlockTask():
            return answers.block(work, command)
        case AnswerBlocker():
            return answers.answer_blocker(work, command)
        case AddTask():
            return adding.add_task(work, command, found["places"], found["earlier"])
        case DefineAgent():
            return agents.define_agent(work, command, found["folder"])
        case DefineFolders():
            return folders.define_folders(work, command, found["places"])
        case RemoveAgent():
            return agents.remove_agent(work, command)
    raise BadInput(f"{type(command).__name__} is not known.")
