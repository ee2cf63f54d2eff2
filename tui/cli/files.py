"""Commands about batch files: an example, a check, the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from batchdeck.core.batchfile.example import DEFAULT_PRESET, PRESETS, example
from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.errors import BadInput, NotFound
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.foreach import BARRIER_KEY, foreach_from
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
from batchdeck.core.view import DeckView
from batchdeck.tui.cli.context import Context, print_json, print_rows
from batchdeck.tui.cli.showing import json_option

FILE = click.argument("file", type=click.Path(path_type=Path))


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("batch.yaml"))
@click.option(
    "--agent",
    "preset",
    default=DEFAULT_PRESET,
    metavar="PRESET",
    help=f"One of {', '.join(PRESETS)}.",
)
def init(file: Path, preset: str) -> None:
    """Write a commented example batch file; never overwrites."""
    text = example(preset)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise BadInput(f"{file} exists already, and is left as it is.") from None
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}.") from error
    click.echo(f"{file} written. Next: batchdeck check {file}, then batchdeck run {file}")


def read_for(context: Context, file: Path) -> BatchSpec:
    """A batch file, read with the deck's configuration and the agents it knows.

    Raises:
        BatchFileFaults: anything in it is wrong.
    """
    settings = context.settings
    spec = read_batch(file, config=settings, agents=known_agents(context))
    used = {task.agent for task in spec.tasks}
    if spec.foreach is not None:
        used |= {step.agent for step in foreach_from(spec.foreach).steps}
    configured = {name: agent for name, agent in settings.agents.items() if name in used}
    return replace(spec, agents={**configured, **spec.agents})


RUNNABLE = frozenset({AgentKind.COMMAND, AgentKind.OPENAI, AgentKind.DEMO})
"""Kinds of agents that this version has adapters for."""


def not_yet(spec: BatchSpec) -> str:
    """What of a file this version cannot carry out; nothing is left undone without a word."""
    missing = [
        f"agent {agent.name} is of kind {agent.kind}"
        for agent in spec.agents.values()
        if agent.kind not in RUNNABLE
    ]
    if spec.budget is not None:
        missing.append("it has a budget")
    return "; ".join(missing)


def known_agents(context: Context) -> tuple[str, ...]:
    """The agents that the deck has already."""
    try:
        with context.look() as look:
            return look.agent_names()
    except NotFound:
        return ()


@click.command()
@FILE
@json_option
@click.pass_obj
def check(context: Context, file: Path, as_json: bool) -> None:
    """Check a batch file; prints FILE:LINE:COL and what is wrong, for every fault."""
    try:
        spec = read_for(context, file)
    except BadInput as error:
        if as_json:
            print_json({"ok": False, "error": error.code, "faults": error.message.splitlines()})
            click.get_current_context().exit(error.exit_code)
        raise
    missing = not_yet(spec)
    tasks, items = split_items(spec.tasks)
    if as_json:
        document = {"ok": True, "name": spec.name, "tasks": len(tasks), "items": len(items)}
        print_json({**document, "cannot_run_yet": missing or None})
        return
    many = f"{len(items)} items, " if spec.foreach is not None else ""
    words = f"{spec.name}, {many}{len(tasks)} tasks, {len(spec.agents)} agents"
    click.echo(f"{file}: {words}: no fault")
    if missing:
        click.echo(f"This version of batchdeck cannot run it yet: {missing}.")


@click.command("plan")
@FILE
@json_option
@click.pass_obj
def plan(context: Context, file: Path, as_json: bool) -> None:
    """Show what a batch file would do: groups, agents, every limit and where it comes from."""
    spec = read_for(context, file)
    document = plan_document(context, spec)
    if as_json:
        print_json(document)
        return
    _print_plan(document)


def plan_document(context: Context, spec: BatchSpec) -> dict[str, Any]:
    """The execution plan as JSON."""
    groups = dependency_groups(spec.tasks)
    limits = _limits(context, spec)
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
        "limits": limits,
        "on_error": spec.on_error,
        "starts": _first(context, spec),
    }


def split_items(tasks: tuple[TaskSpec, ...]) -> tuple[list[TaskSpec], list[TaskSpec]]:
    """A batch's own tasks, and the items of its foreach."""
    items = [task for task in tasks if task.index is not None]
    return [task for task in tasks if task.index is None], items


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


def _limits(context: Context, spec: BatchSpec) -> list[dict[str, Any]]:
    stored = _stored_limits(context)
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


def _stored_limits(context: Context) -> dict[str, Limit]:
    try:
        with context.look() as look:
            view: DeckView = look.view()
            return dict(view.limits)
    except NotFound:
        return {}


def _first(context: Context, spec: BatchSpec) -> list[str]:
    """The tasks that would start at once on an otherwise empty deck, by the file's limits."""
    limits = {row["name"]: row["limit"] for row in _limits(context, spec)}
    used: dict[str, int] = {}
    folders: set[str] = set()
    targets: set[str] = set()
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
            names += [items_limit(spec.name), outstanding_limit(spec.name)]
        full = any(limits.get(n) is not None and used.get(n, 0) >= limits[n] for n in names)
        if full or _overlaps(task.folder, folders) or task.target in targets:
            continue
        starts.append(task.key)
        for name in names:
            used[name] = used.get(name, 0) + 1
        if task.folder:
            folders.add(task.folder)
        if task.target:
            targets.add(task.target)
    return starts


def _overlaps(folder: str | None, taken: set[str]) -> bool:
    if folder is None:
        return False
    path = Path(folder)
    return any(
        path == other or path in other.parents or other in path.parents
        for other in map(Path, taken)
    )


def _print_plan(document: dict[str, Any]) -> None:
    items = f"{document['items']} items, " if document["items"] else ""
    words = f"{items}{document['tasks']} tasks, on_error {document['on_error']}"
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
    click.echo(f"starts first: {', '.join(document['starts'][:20]) or 'nothing'}")
