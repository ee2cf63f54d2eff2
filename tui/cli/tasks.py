"""Commands about single tasks."""

from __future__ import annotations

from typing import Any

import click

from batchdeck.core.commands import (
    AddTask,
    AnswerBlocker,
    BlockTask,
    RetryTask,
    SetStatus,
    StopTurn,
)
from batchdeck.core.errors import NotFound
from batchdeck.core.model.batch import INBOX
from batchdeck.core.model.issue import read_issue
from batchdeck.core.model.limit import read_status
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import TurnState
from batchdeck.core.text import clean_line, one_line
from batchdeck.core.view import DeckView
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.changing import carry_out, who
from batchdeck.tui.cli.context import Context
from batchdeck.tui.cli.documents import task_document
from batchdeck.tui.cli.finding import one_task
from batchdeck.tui.cli.showing import MANY, json_option, show, watch_option
from batchdeck.tui.cli.standard_input import given_text


@click.group()
def task() -> None:
    """Add, show, block, answer, retry or cancel a task, or set its status."""


@task.command()
@click.argument("agent", shell_complete=completing.agents)
@click.argument("prompt")
@click.option("--id", "key", metavar="ID", help="Default: the next free n1, n2 …")
@click.option("--title", default="")
@click.option("--batch", metavar="NAME", help="Default: the inbox.")
@click.option("--status", default="READY", show_default=True)
@click.option("--depends-on", multiple=True, metavar="ID")
@click.option("--folder", metavar="PATH")
@click.option("--priority", type=int, default=0)
@click.option("--target", metavar="KEY", help="Runs strictly in order with others of that key.")
@click.option("--issue", metavar="OWNER/REPO#N", help="Followed on the tracker.")
@click.option("--delivery-id", metavar="ID", help="The same id again is the same task.")
@click.option("--unauthorised", is_flag=True, help="Keeps its place, and waits for release.")
@json_option
@click.pass_obj
def add(
    context: Context,
    agent: str,
    prompt: str,
    key: str | None,
    title: str,
    batch: str | None,
    status: str,
    depends_on: tuple[str, ...],
    folder: str | None,
    priority: int,
    target: str | None,
    issue: str | None,
    delivery_id: str | None,
    unauthorised: bool,
    as_json: bool,
) -> None:
    """Add one task for AGENT; PROMPT - reads it from standard input."""
    text = given_text(prompt)
    if issue is not None:
        read_issue(issue)
    wanted = TaskSpec(
        key=_free_key(context, batch or INBOX) if key is None else key,
        agent=agent,
        title=clean_line(title) or one_line(text, 80),
        prompt=text,
        status=read_status(status),
        depends_on=depends_on,
        target=target,
        folder=None if folder is None else str((context.here / folder).absolute()),
        priority=priority,
        issue=issue,
    )
    command = AddTask(
        task=wanted,
        batch=batch,
        delivery_id=delivery_id,
        unauthorised=unauthorised,
        by=who(context),
    )
    carry_out(context, command, offline=True, as_json=as_json)


def _free_key(context: Context, batch: str) -> str:
    try:
        with context.look() as look:
            taken = {t.key for t in look.view().tasks.values() if t.batch == batch}
    except NotFound:
        taken = set()
    number = len(taken) + 1
    while f"n{number}" in taken:
        number += 1
    return f"n{number}"


@task.command("show")
@click.argument("name", metavar="TASK", shell_complete=completing.tasks)
@watch_option
@json_option
@click.pass_obj
def show_task(context: Context, name: str, as_json: bool, watch: bool) -> None:
    """Show one task."""

    def document(view: DeckView) -> dict[str, Any]:
        return _document(view, one_task(view, name))

    show(
        context,
        document,
        _print_task,
        as_json=as_json,
        watch=watch,
        ended_turns=MANY,
        spending=True,
    )


def _document(view: DeckView, found: Task) -> dict[str, Any]:
    document = task_document(view, found)
    document["depends_on"] = [view.tasks[needed].key for needed in found.depends_on]
    document |= {"target": found.target, "folder": found.folder, "issue": found.issue}
    document["blockers"] = [
        {
            "blocker": str(blocker.id),
            "question": blocker.question,
            "state": str(blocker.state),
            "answer": blocker.answer,
        }
        for blocker in view.blockers.values()
        if blocker.task == found.id
    ]
    return document


def _print_task(document: dict[str, Any], view: DeckView) -> None:
    for blocker in document["blockers"]:
        words = f"{blocker['blocker']} ({blocker['state']}): {blocker['question']}"
        click.echo(f"{'blocker':<12}{clean_line(words, 400)}")
    for key, value in document.items():
        if key != "blockers" and value not in (None, [], ""):
            shown = ", ".join(value) if isinstance(value, list) else value
            click.echo(f"{key:<12}{clean_line(str(shown), 400)}")


@task.command()
@click.argument("name", metavar="TASK", shell_complete=completing.tasks)
@json_option
@click.pass_obj
def retry(context: Context, name: str, as_json: bool) -> None:
    """Queue a failed or stopped task again; attempts count from the start."""
    carry_out(context, RetryTask(task=name, by=who(context)), offline=True, as_json=as_json)


@task.command("status")
@click.argument("name", metavar="TASK", shell_complete=completing.tasks)
@click.argument("status", metavar="STATUS", shell_complete=completing.statuses)
@json_option
@click.pass_obj
def set_status(context: Context, name: str, status: str, as_json: bool) -> None:
    """Set a task's status, by a legal move; DONE ends what runs for it."""
    command = SetStatus(task=name, status=read_status(status), by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@task.command()
@click.argument("name", metavar="TASK", shell_complete=completing.tasks)
@click.argument("question")
@json_option
@click.pass_obj
def block(context: Context, name: str, question: str, as_json: bool) -> None:
    """Keep a task from starting until QUESTION is answered; - reads it from standard input."""
    text = given_text(question)
    command = BlockTask(task=name, question=text, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@task.command("answer")
@click.argument("name", metavar="TASK", shell_complete=completing.tasks)
@click.argument("text", metavar="[ANSWER]", required=False)
@click.option("--blocker", type=int, metavar="N", help="Which one, where several are open.")
@json_option
@click.pass_obj
def answer_task(
    context: Context, name: str, text: str | None, blocker: int | None, as_json: bool
) -> None:
    """Answer what blocks a task; without ANSWER it is resolved. Then the task is READY again."""
    answer = None if text is None else given_text(text)
    command = AnswerBlocker(task=name, answer=answer, blocker=blocker, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@task.command()
@click.argument("name", metavar="TASK", shell_complete=completing.tasks)
@json_option
@click.pass_obj
def cancel(context: Context, name: str, as_json: bool) -> None:
    """Cancel a task: what of it runs is ended, and it has failed."""
    with context.look() as look:
        view = look.view()
    found = one_task(view, name)
    if found.turn is None:
        raise NotFound(f"{found.key} has no turn to cancel.")
    turn = view.turns.get(found.turn)
    # what runs is ended by whoever runs it
    waits = turn is not None and turn.state in (TurnState.QUEUED, TurnState.WAITING)
    command = StopTurn(turn=found.turn, for_good=True, by=who(context))
    carry_out(context, command, offline=waits, as_json=as_json)
