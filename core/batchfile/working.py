"""Where the tasks of a batch would work: their own folder, else their agent's, else none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from batchdeck.core.executors.places import identify
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.spec import TaskSpec


def working_folders(
    tasks: Iterable[TaskSpec], agents: Mapping[str, Agent], defined: Mapping[str, str]
) -> dict[str, Folder | None]:
    """By task; None: a fresh scratch folder. `defined` are the configuration's names of folders."""
    places: dict[str, Folder] = {}
    found: dict[str, Folder | None] = {}
    for task in tasks:
        agent = agents.get(task.agent)
        named = task.folder or (None if agent is None else agent.folder)
        if named is None:
            found[task.key] = None
            continue
        path = defined.get(named, named)
        if path not in places:
            places[path] = identify(path)
        found[task.key] = places[path]
    return found
