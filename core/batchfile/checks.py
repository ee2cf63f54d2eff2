"""What a batch file says that its shape cannot tell: names that refer to nothing, and cycles."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from batchdeck.core.batchfile import templates
from batchdeck.core.batchfile.document import Document, Loc
from batchdeck.core.batchfile.faults import shown
from batchdeck.core.model.foreach import BARRIER_KEY

FOREACH = BARRIER_KEY
_ITEM = re.compile(r"item-\d+")


def check_tasks(document: Document, agents: Collection[str]) -> None:
    """Notes every task with an id, agent, dependency or template that cannot be right."""
    tasks = [(index, task) for index, task in enumerate(_list(document.values, "tasks"))]
    has_foreach = document.values.get(FOREACH) is not None
    if document.values.get("tasks") in (None, []) and not has_foreach:
        document.fault(("tasks",), "expected at least one task, or a foreach")
    ids = _ids(document, tasks, has_foreach)
    for index, task in tasks:
        if isinstance(task, dict):
            check_agent_name(document, ("tasks", index, "agent"), task.get("agent"), agents)
            _check_dependencies(document, index, task, ids)
            _check_texts(document, index, task)
    _check_cycles(document, ids)


def check_agent_name(document: Document, loc: Loc, name: Any, agents: Collection[str]) -> None:
    """Notes an agent that nobody defined."""
    if isinstance(name, str) and name not in agents:
        document.fault(loc, f"there is no agent {shown(name)!r}{document.hint(name, agents)}")


def _list(block: Any, key: str) -> list[Any]:
    found = block.get(key) if isinstance(block, dict) else None
    return found if isinstance(found, list) else []


def _ids(
    document: Document, tasks: list[tuple[int, Any]], has_foreach: bool
) -> dict[str, tuple[int, list[str]]]:
    """Each id with where its task is and what it depends on."""
    ids: dict[str, tuple[int, list[str]]] = {}
    for index, task in tasks:
        key = task.get("id") if isinstance(task, dict) else None
        if not isinstance(key, str):
            continue
        if key in ids:
            words = f"{shown(key)!r} is the id of another task (tasks[{ids[key][0]}]) too"
            document.fault(("tasks", index, "id"), words)
        elif key == FOREACH and has_foreach:
            document.fault(("tasks", index, "id"), f"{FOREACH!r} stands for the foreach block")
        elif has_foreach and _ITEM.fullmatch(key):
            document.fault(("tasks", index, "id"), f"{shown(key)!r} stands for an item")
        else:
            needed = [name for name in _list(task, "depends_on") if isinstance(name, str)]
            ids[key] = index, needed
    if has_foreach:
        ids[FOREACH] = -1, []
    return ids


def _check_dependencies(
    document: Document, index: int, task: Mapping[str, Any], ids: Collection[str]
) -> None:
    for place, name in enumerate(_list(task, "depends_on")):
        if isinstance(name, str) and name not in ids:
            loc = ("tasks", index, "depends_on", place)
            document.fault(loc, f"there is no task {shown(name)!r}{document.hint(name, ids)}")


def _check_texts(document: Document, index: int, task: Mapping[str, Any]) -> None:
    title, prompt = task.get("title"), task.get("prompt")
    if not (isinstance(title, str) and title.strip()) and (prompt is None or prompt == ""):
        document.fault(("tasks", index, "prompt"), "missing: a task needs a prompt, or a title")
    for key, names in (("title", ("task", "batch")), ("prompt", templates.PLAIN_NAMES)):
        check_template(document, ("tasks", index, key), task.get(key), names)


def check_template(document: Document, loc: Loc, text: Any, names: Collection[str]) -> None:
    """Notes a text that is no template, or names what is not defined."""
    if not isinstance(text, str):
        return
    try:
        templates.check(text, names)
    except templates.TemplateFault as fault:
        document.fault(loc, str(fault))


def _check_cycles(document: Document, ids: Mapping[str, tuple[int, list[str]]]) -> None:
    for cycle in _cycles({key: needed for key, (_, needed) in ids.items()}):
        loc = ("tasks", ids[cycle[0]][0], "depends_on")
        document.fault(loc, "a cycle: " + " → ".join(map(shown, _shortened(cycle))))


def _shortened(cycle: list[str]) -> list[str]:
    closed = [*cycle, cycle[0]]
    return closed if len(closed) <= 12 else [*closed[:10], "…", *closed[-1:]]


def _cycles(needs: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """One way round for each cycle that a walk in the order of the file comes upon."""
    done: set[str] = set()
    for root in needs:
        way: list[str] = []
        on_way: dict[str, int] = {}
        waiting = [iter([root])]
        while waiting:
            key = next(waiting[-1], None)
            if key is None:
                waiting.pop()
                if way:
                    done.add(way[-1])
                    del on_way[way.pop()]
            elif key in on_way:
                yield way[on_way[key] :]
            elif key in needs and key not in done:
                on_way[key] = len(way)
                way.append(key)
                waiting.append(iter(needs[key]))
