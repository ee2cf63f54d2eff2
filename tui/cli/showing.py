"""Commands that show: status, tasks, turns, agents, batches, events, logs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from batchdeck.core.model.event import Event
from batchdeck.core.model.limit import read_status
from batchdeck.core.text import clean_line
from batchdeck.core.view import DeckView
from batchdeck.tui.cli import completing, documents
from batchdeck.tui.cli.context import Context, Look, print_json, print_line, print_rows
from batchdeck.tui.cli.finding import check_known

FOLLOW_SECONDS = 0.2
MANY = 1_000_000
_PAGE = 1 << 16

json_option = click.option("--json", "as_json", is_flag=True, help="JSON for programs.")
watch_option = click.option(
    "--watch", is_flag=True, help="Again whenever it changes; with --json one document a line."
)


def show(
    context: Context,
    document: Callable[[DeckView], Any],
    for_people: Callable[[Any, DeckView], None],
    *,
    as_json: bool,
    watch: bool,
    ended_turns: int = 0,
    spending: bool = False,
) -> None:
    """Prints what `document` says of the deck: once, or again whenever it says something else."""
    shown: Any = None
    for view in _views(context, watch, ended_turns, spending):
        found = document(view)
        if found == shown:
            continue
        if as_json:
            print_json(found)
            sys.stdout.flush()
        else:
            if shown is not None:
                _between()
            for_people(found, view)
        shown = found


def _views(context: Context, watch: bool, ended_turns: int, spending: bool) -> Iterator[DeckView]:
    with context.look() as look:
        yield look.view(ended_turns, spending=spending)
        while watch:
            time.sleep(FOLLOW_SECONDS)
            if look.has_changed():
                yield look.view(ended_turns, spending=spending)


def _between() -> None:
    """On a terminal the next takes the place of the last; in a log it follows."""
    if sys.stdout.isatty():
        click.clear()
    else:
        click.echo()


@click.command()
@watch_option
@json_option
@click.pass_obj
def status(context: Context, as_json: bool, watch: bool) -> None:
    """Show what runs, what waits, and the limits in force."""
    show(context, documents.status_document, _print_status, as_json=as_json, watch=watch)


def _print_status(document: Any, view: DeckView) -> None:
    print_line(_headline(view))
    if view.banner or view.fault:
        print_line(view.fault or view.banner or "")
    for hold in view.holds.values():
        reason = f": {hold.reason}" if hold.reason else ""
        print_line(f"held: {hold.named} by {hold.by}{reason}")
    _print_counts("status", document["by_status"], "tasks")
    _print_counts("agent", document["by_agent"], "kind")


def _headline(view: DeckView) -> str:
    names = ", ".join(f"{b.name} ({b.state.replace('_', ' ')})" for b in view.batches.values())
    limit = documents.status_document(view)["limit"]
    parts = [
        names or "no batch",
        view.mode,
        f"{view.running}/{limit} running",
        f"{view.queued} queued",
    ]
    if view.waiting:
        parts.append(f"{view.waiting} wait for you")
    return " · ".join(parts)


def _print_counts(title: str, rows: dict[str, dict[str, object]], last: str) -> None:
    if not rows:
        return
    click.echo()
    cells = [
        [name, _of_limit(row), str(row["queued"]), str(row[last])] for name, row in rows.items()
    ]
    print_rows(cells, [title, "running", "queued", "now" if last == "tasks" else last])


def _of_limit(row: dict[str, object]) -> str:
    limit = row["limit"]
    shown = "∞" if limit is None else "closed" if limit == 0 else str(limit)
    return f"{row['running']}/{shown}"


@click.command()
@click.option(
    "--status",
    "wanted",
    metavar="STATUS",
    shell_complete=completing.statuses,
    help="Only tasks of this status.",
)
@click.option(
    "--batch", metavar="NAME", shell_complete=completing.batches, help="Only tasks of this batch."
)
@watch_option
@json_option
@click.pass_obj
def tasks(
    context: Context, wanted: str | None, batch: str | None, as_json: bool, watch: bool
) -> None:
    """List the tasks, in batch order."""
    status = None if wanted is None else read_status(wanted)

    def document(view: DeckView) -> list[dict[str, Any]]:
        check_known("batch", batch, view.batches)
        return [
            row
            for row in documents.task_documents(view)
            if (status is None or row["status"] == status)
            and (batch is None or row["batch"] == batch)
        ]

    show(
        context,
        document,
        _print_tasks,
        as_json=as_json,
        watch=watch,
        ended_turns=MANY,
        spending=as_json,
    )


def _print_tasks(rows: Any, _view: DeckView) -> None:
    """With the batch of each, where several are shown: ids are its own."""
    several = len({row["batch"] for row in rows}) > 1
    cells = [
        [
            *([row["batch"]] if several else []),
            row["id"],
            row["status"],
            row["agent"],
            row["state"] or "",
            row["error"] or row["title"],
        ]
        for row in rows
    ]
    header = ["task", "status", "agent", "turn", "what"]
    shown = [[clean_line(cell, 120) for cell in row] for row in cells]
    print_rows(shown, ["batch", *header] if several else header)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Ended turns too.")
@watch_option
@json_option
@click.pass_obj
def turns(context: Context, everything: bool, as_json: bool, watch: bool) -> None:
    """List the turns: running, waiting, then queued in the order of service."""

    def document(view: DeckView) -> list[dict[str, Any]]:
        return [documents.turn_document(view, turn) for turn in documents.turns_in_order(view)]

    ended = MANY if everything or as_json else 0
    show(
        context,
        document,
        _print_turns,
        as_json=as_json,
        watch=watch,
        ended_turns=ended,
        spending=as_json,
    )


def _print_turns(rows: Any, _view: DeckView) -> None:
    cells = [
        [
            f"#{row['turn']}",
            row["task"] or row["conversation"],
            row["agent"],
            "held" if row["held_by"] and row["state"] == "queued" else row["state"],
            row["lane"] or "",
            row["error"] or row["title"],
        ]
        for row in rows
    ]
    header = ["turn", "task", "agent", "state", "lane", "what"]
    print_rows([[clean_line(cell, 120) for cell in row] for row in cells], header)


@click.command()
@watch_option
@json_option
@click.pass_obj
def agents(context: Context, as_json: bool, watch: bool) -> None:
    """List the agents with what they do and their limits."""
    show(context, documents.agent_documents, _print_agents, as_json=as_json, watch=watch)


def _print_agents(rows: Any, _view: DeckView) -> None:
    cells = [
        [
            row["name"],
            row["kind"],
            _of_limit(row) + (" serial" if row["serial"] else ""),
            str(row["queued"]),
            str(row["done"]),
            str(row["failed"]),
        ]
        for row in rows
    ]
    print_rows(cells, ["agent", "kind", "running", "queued", "done", "failed"])


@click.command()
@watch_option
@json_option
@click.pass_obj
def batches(context: Context, as_json: bool, watch: bool) -> None:
    """List the batches of this deck."""
    show(context, documents.batch_documents, _print_batches, as_json=as_json, watch=watch)


def _print_batches(rows: Any, _view: DeckView) -> None:
    cells = [
        [
            row["name"],
            row["state"].replace("_", " "),
            f"{row['done']}/{row['total']}",
            str(row["failed"]),
            _of_limit(row),
        ]
        for row in rows
    ]
    print_rows(cells, ["batch", "state", "done", "failed", "running"])


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on as things happen.")
@click.option("-n", "--latest", type=click.IntRange(min=1), help="Only the latest N.")
@json_option
@click.pass_obj
def events(context: Context, follow: bool, latest: int | None, as_json: bool) -> None:
    """Show what happened, oldest first; --json gives one event a line."""
    with context.look() as look:
        for event in _events(look, latest, follow):
            click.echo(json.dumps(event.as_json(), default=str) if as_json else event_line(event))


def _events(look: Look, latest: int | None, follow: bool) -> Iterator[Event]:
    after = 0
    if latest is not None:
        found: Sequence[Event] = look.events(-1, latest)
        yield from found
        after = found[-1].seq if found else 0
    while True:
        found = look.events(after, 1000)
        yield from found
        if found:
            after = found[-1].seq
        elif not follow:
            return
        else:
            time.sleep(FOLLOW_SECONDS)


def event_line(event: Event) -> str:
    """One event for people: time, what, of whom."""
    at = datetime.fromtimestamp(event.at_ms / 1000).astimezone().strftime("%H:%M:%S")
    about = [f"#{event.turn}"] if event.turn is not None else []
    if event.task is not None:
        about.append(event.task.partition("/")[2])
    elif event.batch is not None:
        about.append(event.batch)
    if event.agent is not None:
        about.append(event.agent)
    details = [
        f"{name}={value}"
        for name, value in event.fields.items()
        if value not in (None, "", []) and name not in ("attempt", "results", "key")
    ]
    by = [f"by {event.by}"] if event.by else []
    return clean_line(" ".join([at, event.kind, *about, *details, *by]), 400)
