"""Commands that change: limits, messages, stops, holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from batchdeck.core.commands import (
    Command,
    Drain,
    OnBusy,
    PutHold,
    Reconcile,
    ReleaseHold,
    Send,
    SetLimit,
    StopTurn,
)
from batchdeck.core.errors import BadInput, NotFound
from batchdeck.core.model.hold import DECK
from batchdeck.core.model.limit import read_limit_value
from batchdeck.core.rules.limits import check_limits, full_limit_name
from batchdeck.core.text import clean_line
from batchdeck.core.view import DeckView
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.context import Context, print_json
from batchdeck.tui.cli.finding import needed_turn
from batchdeck.tui.cli.showing import json_option
from batchdeck.tui.cli.standard_input import given_text


def who(context: Context) -> str:
    """Who asks, as the deck records it."""
    return context.environment.get("USER") or "operator"


def carry_out(context: Context, command: Command, *, offline: bool, as_json: bool) -> None:
    """Has a command carried out, prints the answer and ends with its exit code."""
    code, document = context.submit(command, offline=offline)
    print_answer(code, document, as_json=as_json)
    click.get_current_context().exit(code)


def print_answer(code: int, document: dict[str, Any], *, as_json: bool) -> None:
    """An answer on standard output for programs, else a line where it belongs."""
    if as_json:
        print_json(document)
        return
    message = clean_line(str(document.get("message") or document.get("error")), 1000)
    click.echo(message, err=code != 0)


def read_assignments(changes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Name and value of each `NAME=N`.

    Raises:
        BadInput: one has no `=`, or a name comes twice.
    """
    seen: set[str] = set()
    for change in changes:
        name, equals, value = change.rpartition("=")
        if not equals or not name:
            raise BadInput(f"Invalid format {change!r}. Expected NAME=N, as in agent:coder=2.")
        if name in seen:
            raise BadInput(f"{name} is given twice.")
        seen.add(name)
        yield name, value


def limit_numbers(changes: tuple[str, ...]) -> dict[str, int | None]:
    """The numbers in `NAME=N` by the names as they were given.

    Raises:
        BadInput: one is no number of a limit.
    """
    return {name: read_limit_value(value, name) for name, value in read_assignments(changes)}


def possible_limits(view: DeckView, wanted: Mapping[str, int | None]) -> dict[str, int | None]:
    """All changes by their full names, in the order in which each of them is possible.

    Raises:
        BadInput: one cannot be made, so that none is.
    """
    full = {full_limit_name(view, name): value for name, value in wanted.items()}
    if len(full) < len(wanted):
        raise BadInput(f"One limit is given twice: {', '.join(wanted)}.")
    return check_limits(view, full)


@click.command()
@click.argument(
    "changes", metavar="NAME=N…", nargs=-1, required=True, shell_complete=completing.limits
)
@json_option
@click.pass_obj
def limit(context: Context, changes: tuple[str, ...], as_json: bool) -> None:
    """Change limits; N is a whole number from 0 (closed), or none.

    \b
    global                 turns of the whole deck
    batch:NAME             turns of a batch
    status:READY           turns of that lane (status:BATCH/READY with several batches)
    agent:NAME             turns of an agent
    items:NAME             items of a batch's foreach at work
    items:NAME/outstanding items of it that have begun and not ended
    attention              turns that may wait for you

    Several at once are changed all or none: limit agent:coder=3 global=8
    """
    wanted = limit_numbers(changes)
    if len(wanted) > 1:
        wanted = _checked(context, wanted)
    changed: list[dict[str, Any]] = []
    here: dict[str, Any] = {}
    for name, value in wanted.items():
        command = SetLimit(name=name, value=value, by=who(context))
        code, document = context.submit(command, offline=True)
        if code != 0 or not as_json:
            print_answer(code, document, as_json=as_json)
        if code != 0:
            click.get_current_context().exit(code)
        here = {key: document.pop(key) for key in ("supervised",) if key in document}
        changed.append({"name": name, "value": value, "before": None, **document})
    if as_json:
        message = "; ".join(one["message"] for one in changed)
        alone = changed[0] if len(changed) == 1 else {}
        print_json({**alone, "message": message, "limits": changed, **here})


def _checked(context: Context, wanted: Mapping[str, int | None]) -> dict[str, int | None]:
    try:
        with context.look() as look:
            view = look.view()
    except NotFound:
        view = DeckView()
    return possible_limits(view, wanted)


@click.command()
@click.argument("to", metavar="AGENT|CONVERSATION|TASK", shell_complete=completing.addressees)
@click.argument("text")
@click.option("--on-busy", metavar="queue|force", help="What to do where a gate is shut.")
@click.option("--target", metavar="KEY", help="Runs strictly in order with others of that key.")
@click.option("--delivery-id", metavar="ID", help="The same id again is the same message.")
@click.option("--unauthorised", is_flag=True, help="Keeps its place, and waits for release.")
@json_option
@click.pass_obj
def send(
    context: Context,
    to: str,
    text: str,
    on_busy: str | None,
    target: str | None,
    delivery_id: str | None,
    unauthorised: bool,
    as_json: bool,
) -> None:
    """Send a message; TEXT - reads it from standard input.

    Where it cannot start at once and --on-busy is not given: exit 3, and nothing is stored.
    """
    if on_busy not in (None, *OnBusy):
        answer = {
            "error": "on_busy_invalid",
            "message": f"--on-busy cannot be {on_busy!r}; give queue or force.",
        }
        print_answer(2, answer, as_json=as_json)
        click.get_current_context().exit(2)
    command = Send(
        to=to,
        text=given_text(text),
        on_busy=None if on_busy is None else OnBusy(on_busy),
        target=target,
        delivery_id=delivery_id,
        unauthorised=unauthorised,
        by=who(context),
    )
    stored_here = command.on_busy is OnBusy.QUEUE or unauthorised
    code, document = context.submit(command, offline=stored_here)
    if code == 0 and document.get("supervised") is False:
        document["message"] = f"{document['message']}; nobody dispatches this deck now"
    print_answer(code, document, as_json=as_json)
    click.get_current_context().exit(code)


@click.command()
@click.argument("turn", metavar="TURN|TASK", shell_complete=completing.tasks_and_turns)
@json_option
@click.pass_obj
def stop(context: Context, turn: str, as_json: bool) -> None:
    """Cancel a queued turn, or end a running one with all its processes."""
    with context.look() as look:
        number = needed_turn(look.view(), turn)
    command = StopTurn(turn=number, by=who(context))
    carry_out(context, command, offline=False, as_json=as_json)


@click.command()
@click.argument("what", default=DECK, shell_complete=completing.what_can_be_held)
@click.option("--reason", default="", help="Shown to whoever wonders why it waits.")
@json_option
@click.pass_obj
def hold(context: Context, what: str, reason: str, as_json: bool) -> None:
    """Stop admissions for the deck, #TURN, agent:, account: or batch:NAME, or folder:PATH."""
    command = PutHold(what=what, reason=reason, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@click.command()
@click.argument("what", default=DECK, shell_complete=completing.what_can_be_held)
@json_option
@click.pass_obj
def release(context: Context, what: str, as_json: bool) -> None:
    """Take a hold away; authorise a turn that was not; use a cooling account:NAME at once."""
    command = ReleaseHold(what=what, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@click.command()
@click.option("--off", is_flag=True, help="Admit again.")
@json_option
@click.pass_obj
def drain(context: Context, off: bool, as_json: bool) -> None:
    """Admit nothing new, and let what runs finish."""
    command = Drain(on=not off, by=who(context))
    carry_out(context, command, offline=False, as_json=as_json)


@click.command()
@json_option
@click.pass_obj
def reconcile(context: Context, as_json: bool) -> None:
    """Look at once for what was done elsewhere: tasks, blockers, issues."""
    carry_out(context, Reconcile(by=who(context)), offline=False, as_json=as_json)
