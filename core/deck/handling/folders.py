"""Names of folders as the configuration defines them, and what becomes of what waits for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from batchdeck.core.commands import DefineFolders, Receipt
from batchdeck.core.deck.handling.agents import save_agent
from batchdeck.core.deck.work import Work
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.store import changes as sql
from batchdeck.core.text import counted


def define_folders(work: Work, command: DefineFolders, places: Mapping[str, Folder]) -> Receipt:
    """Takes in what is defined now; turns that wait for a name that is gone fall back, and say so.

    `places`: the identities of the folders that agents have of their own, by path.
    """
    defined = work.state.defined_folders
    for name, path in command.folders.items():
        if defined.get(name) != path:
            defined[name] = path
            work.changes.add(sql.DEFINE_FOLDER, (name, path))
    for name in [name for name in defined if name not in command.folders]:
        turns = _fall_back(work, name, places, command.by)
        work.changes.add(sql.UNDEFINE_FOLDER, (name,))
        work.changes.add(sql.FORGET_TASK_FOLDER, (name,))
        path = defined.pop(name)
        work.emit("folder.deleted", by=command.by, folder=name, path=path, turns=turns)
        if turns:
            _tell(work, name, len(turns))
    return Receipt(accepted=True)


def _fall_back(work: Work, name: str, places: Mapping[str, Folder], by: str) -> list[int]:
    """Puts the agent's folder, or none, where the name stood; the turns that were moved."""
    state = work.state
    waiting = [turn for turn in state.turns.values() if _waits_for(work, turn, name)]
    for agent in [agent for agent in state.agents.values() if agent.folder == name]:
        save_agent(work, replace(agent, folder=None), origin=by)
    for task in [task for task in state.tasks.values() if task.folder == name]:
        work.put_task(replace(task, folder=None))
    for turn in waiting:
        known = state.agents.get(turn.agent)  # that of a batch being added comes last
        own = None if known is None else known.folder
        folder = None if own is None else places.get(state.defined_folders.get(own, own))
        if folder is not None:
            work.know_folder(folder)
        work.requeue_changed(replace(turn, folder=folder))
    return [turn.id for turn in waiting]


def _waits_for(work: Work, turn: Turn, name: str) -> bool:
    """A turn that goes on with its program's own session stays where that was held."""
    if turn.state is not TurnState.QUEUED or turn.folder is None:
        return False
    if work.state.conversations[turn.conversation].session is not None:
        return False
    task = None if turn.task is None else work.state.tasks[turn.task]
    if task is not None and task.folder is not None:
        return task.folder == name
    agent = work.state.agents.get(turn.agent)
    return agent is not None and agent.folder == name


def _tell(work: Work, name: str, turns: int) -> None:
    words = (
        f"The folder {name} is defined no more: {counted(turns, 'turn')} that waited for it will "
        "work in the agent's folder, or in a scratch folder."
    )
    state = work.state
    state.banner = f"{state.banner} {words}" if state.banner else words
