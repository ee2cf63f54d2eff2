"""Commands about what agents ask, and about what they may always do."""

from __future__ import annotations

import shlex

import click

from batchdeck.core.commands import AnswerAsk, RevokeAllowance
from batchdeck.core.errors import BadInput, NotFound
from batchdeck.core.text import clean_line, clean_text, number_in
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.changing import carry_out, who
from batchdeck.tui.cli.context import Context, print_json, print_rows
from batchdeck.tui.cli.showing import json_option


@click.group()
def ask() -> None:
    """List and answer what agents ask."""


@ask.command("list")
@json_option
@click.pass_obj
def list_asks(context: Context, as_json: bool) -> None:
    """List the open questions, oldest first."""
    with context.look() as look:
        view = look.view()
    rows = [
        {
            "ask": str(found.id),
            "turn": str(found.turn),
            "agent": view.turns[found.turn].agent,
            "question": found.question,
            "permission": found.is_permission,
            "covers": found.covers or None,
            "choices": list(found.choices),
            "opened_ms": found.opened_ms,
        }
        for found in view.asks.values()
    ]
    if as_json:
        print_json(rows)
        return
    cells = [
        [str(ask.id), f"#{ask.turn}", view.turns[ask.turn].agent, clean_line(ask.headline)]
        for ask in view.asks.values()
    ]
    print_rows(cells, ["ask", "turn", "agent", "question"])


@ask.command("show")
@click.argument("number", metavar="ASK", shell_complete=completing.asks)
@click.pass_obj
def show_ask(context: Context, number: str) -> None:
    """Show an open question in full, with what it may be answered with."""
    with context.look() as look:
        view = look.view()
    found = view.asks.get(number_in(number) or 0)
    if found is None:
        raise NotFound(f"There is no open ask {number}.")
    click.echo(f"#{found.turn} {view.turns[found.turn].agent}")
    click.echo(clean_text(found.question))
    for choice in found.choices:
        click.echo(f"  batchdeck ask answer {found.id} {shlex.quote(choice)}")


@ask.command()
@click.argument("number", metavar="ASK", shell_complete=completing.asks)
@click.argument("words", metavar="ANSWER", nargs=-1, required=True)
@json_option
@click.pass_obj
def answer(context: Context, number: str, words: tuple[str, ...], as_json: bool) -> None:
    """Answer an open question; its work goes on at its old place.

    A permission is answered with `allow once`, `allow always` or `deny`.
    """
    ask_id = number_in(number)
    if ask_id is None:
        raise BadInput(f"{number!r} is not an ask; batchdeck ask list shows their numbers.")
    command = AnswerAsk(ask=ask_id, answer=" ".join(words), by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@ask.command()
@json_option
@click.pass_obj
def allowed(context: Context, as_json: bool) -> None:
    """List what agents may always do."""
    with context.look() as look:
        view = look.view()
    rows = [
        {
            "allowance": str(one.id),
            "agent": one.agent,
            "covers": one.covers,
            "by": one.by,
            "at_ms": one.at_ms,
        }
        for one in view.allowances.values()
    ]
    if as_json:
        print_json(rows)
        return
    print_rows(
        [[str(row[name]) for name in ("allowance", "agent", "covers", "by")] for row in rows],
        ["allowance", "agent", "covers", "by"],
    )


@ask.command()
@click.argument("number", metavar="ALLOWANCE", shell_complete=completing.allowances)
@json_option
@click.pass_obj
def revoke(context: Context, number: str, as_json: bool) -> None:
    """Take back what an agent may always do: it asks again."""
    allowance = number_in(number)
    if allowance is None:
        raise BadInput(f"{number!r} is no allowance; batchdeck ask allowed shows their numbers.")
    command = RevokeAllowance(allowance=allowance, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)
