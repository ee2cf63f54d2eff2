"""The execution plan of a batch file: groups, agents, folders, limits, and what starts first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from batchdeck.core.batchfile.working import working_folders
from batchdeck.core.errors import NotFound
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.foreach import BARRIER_KEY
from batchdeck.core.model.limit import (
    DEFAULT_GLOBAL,
    GLOBAL,
    Limit,
    agent_limit,
    batch_limit,
    items_limit,
    outstanding_limit,
)
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import ADMISSIBLE
from batchdeck.core.rules.folders import overlaps
from batchdeck.core.text import counted
from batchdeck.core.view import DeckView
from batchdeck.tui.cli.approving import needs_approval
from batchdeck.tui.cli.context import Context, faults_of_ui, print_json, print_rows
from batchdeck.tui.cli.files import FILE, read_for, split_items
from batchdeck.tui.cli.showing import json_option
from batchdeck.tui.present.fitting import folder_words


@click.command("plan")
@FILE
@json_option
@click.pass_obj
def plan(context: Context, file: Path, as_json: bool) -> None:
    """Show what a batch file would do: groups, agents, every limit and where it comes from."""
    spec = read_for(context, file, faults_of_ui)
    document = plan_document(context, file, spec)
    if as_json:
        print_json(document)
        return
    _print_plan(document, file.absolute().parent)


def plan_document(context: Context, file: Path, spec: BatchSpec) -> dict[str, Any]:
    """The execution plan as JSON."""
    groups = dependency_groups(spec.tasks)
    view = _deck_now(context)
    agents = {**view.agents, **spec.agents}
    folders = working_folders(spec.tasks, agents, context.settings.folders)
    limits = _limits(view, spec)
    return {
        "name": spec.name,
        "tasks": len(split_items(spec.tasks)[0]),
        "items": len(split_items(spec.tasks)[1]),
        "groups": [[task.key for task in group] for group in groups],
        "agents": [
            {
                "name": name,
                "kind": agent.kind,
                "tasks": sum(task.agent == name for task in spec.tasks),
                "serial": agent.one_at_a_time,
            }
            for name, agent in sorted(spec.agents.items())
        ],
        "folders": {key: None if f is None else f.path for key, f in folders.items()},
        "limits": limits,
        "on_error": spec.on_error,
        "starts": _first(spec, {row["name"]: row["limit"] for row in limits}, folders),
        "approval": needs_approval(context, file, spec),
    }


def dependency_groups(tasks: tuple[TaskSpec, ...]) -> list[list[TaskSpec]]:
    """Tasks by the length of the longest chain of dependencies before them."""
    by_key = {task.key: task for task in tasks}
    # the items come first, since they need nothing; what needs the barrier comes behind them
    depth: dict[str, int] = {BARRIER_KEY: 0}
    for task in tasks:
        _depth(task, by_key, depth)
    groups: list[list[TaskSpec]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for task in tasks:
        groups[depth[task.key]].append(task)
    return groups


def _depth(start: TaskSpec, by_key: dict[str, TaskSpec], depth: dict[str, int]) -> None:
    """Fills in the depth of a task and of all it needs, without recursion."""
    pending = [start]
    while pending:
        task = pending[-1]
        missing = [by_key[key] for key in task.depends_on if key not in depth and key in by_key]
        if missing:
            pending.extend(missing)
            continue
        needed = (depth[key] for key in task.depends_on if key in depth)
        depth[task.key] = 1 + max(needed, default=-1)
        pending.pop()


def _limits(view: DeckView, spec: BatchSpec) -> list[dict[str, Any]]:
    stored = view.limits
    wanted = {limit.name: limit for limit in spec.limits}
    deck = stored.get(GLOBAL, Limit(GLOBAL, DEFAULT_GLOBAL))
    batch = wanted.get(batch_limit(spec.name))
    if not deck.explicit and batch is not None and (batch.value or 0) > (deck.value or 0):
        deck = Limit(GLOBAL, batch.value, origin=f"batch {spec.name} (nobody set it)")
    rows = [deck, *wanted.values()]
    for name, agent in sorted(spec.agents.items()):
        limit = stored.get(agent_limit(name))
        if agent_limit(name) in wanted:
            continue
        if limit is None or not limit.explicit:
            origin = "serial" if agent.one_at_a_time else Path(spec.file or "").name or "default"
            value = 1 if agent.one_at_a_time else agent.parallelism_limit
            limit = Limit(agent_limit(name), value, origin=origin)
        rows.append(limit)
    return [{"name": row.name, "limit": row.value, "origin": row.origin} for row in rows]


def _deck_now(context: Context) -> DeckView:
    try:
        with context.look() as look:
            return look.view()
    except NotFound:
        return DeckView()


def _first(
    spec: BatchSpec, limits: Mapping[str, int | None], folders: Mapping[str, Folder | None]
) -> list[str]:
    """The tasks that would start at once on an otherwise empty deck, by the file's limits."""
    used: Counter[str] = Counter()
    taken: list[Folder] = []
    lines: set[tuple[str, str]] = set()
    starts: list[str] = []
    ready = [task for task in spec.tasks if task.status in ADMISSIBLE and not task.depends_on]
    for task in sorted(ready, key=lambda task: -task.priority):
        names = [
            GLOBAL,
            batch_limit(spec.name),
            f"status:{spec.name}/{task.status}",
            agent_limit(task.agent),
        ]
        if task.index is not None:
            of_items = [items_limit(spec.name), outstanding_limit(spec.name)]
            if _is_full(of_items, used, limits):
                continue
            used.update(of_items)  # one that waits for a slot, or in a line, is at work too
        folder = folders[task.key]
        occupied = folder is not None and any(overlaps(folder, other) for other in taken)
        mine = _lines_of(task)
        if _is_full(names, used, limits) or occupied or not lines.isdisjoint(mine):
            continue
        starts.append(task.key)
        used.update(names)
        if folder is not None:
            taken.append(folder)
        lines |= mine
    return starts


def _is_full(
    names: Iterable[str], used: Mapping[str, int], limits: Mapping[str, int | None]
) -> bool:
    return any((n := limits.get(name)) is not None and used[name] >= n for name in names)


def _lines_of(task: TaskSpec) -> set[tuple[str, str]]:
    """Where one turn works at a time, in order: its target, its named conversation."""
    named = {"target": task.target, "conversation": task.conversation}
    return {(kind, name) for kind, name in named.items() if name}


def _print_plan(document: dict[str, Any], base: Path) -> None:
    items = f"{counted(document['items'], 'item')}, " if document["items"] else ""
    words = f"{items}{counted(document['tasks'], 'task')}, on_error {document['on_error']}"
    click.echo(f"{document['name']}: {words}")
    for number, group in enumerate(document["groups"], 1):
        shown = ", ".join(group[:12]) + (f" and {len(group) - 12} more" if len(group) > 12 else "")
        click.echo(f"group {number}: {shown}")
    click.echo()
    rows = [
        [row["name"], "none" if row["limit"] is None else str(row["limit"]), row["origin"]]
        for row in document["limits"]
    ]
    print_rows(rows, ["limit", "N", "from"])
    click.echo()
    _print_folders(document["folders"], base)
    click.echo(f"starts first: {', '.join(document['starts'][:20]) or 'nothing'}")
    if document["approval"]:
        click.echo(f"run asks for approval first ({document['approval']}); --trust gives it")


def _print_folders(folders: Mapping[str, str | None], base: Path) -> None:
    """Which tasks work in which folder, in the order in which the folders come up."""
    by_folder: dict[str | None, list[str]] = {}
    for key, folder in folders.items():
        by_folder.setdefault(folder, []).append(key)
    rows = []
    for folder, keys in by_folder.items():
        more = f" and {len(keys) - 8} more" if len(keys) > 8 else ""
        shown = "scratch folder, one each" if folder is None else folder_words(folder, str(base))
        rows.append([shown, ", ".join(keys[:8]) + more])
    if rows:
        print_rows(rows, ["folder", "tasks"])
        click.echo()
