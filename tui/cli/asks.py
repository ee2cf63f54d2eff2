"""Commands about what agents ask, and about what they may always do."""

from __future__ import annotations

import json
import shlex
from typing import Any

import click

from batchdeck.core.answer_check import fitting_words
from batchdeck.core.commands import AnswerAsk, RevokeAllowance
from batchdeck.core.errors import BadInput, NotFound
from batchdeck.core.model.ask import Ask
from batchdeck.core.text import clean_line, clean_text, number_in
from batchdeck.core.view import DeckView
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.changing import carry_out, who
from batchdeck.tui.cli.context import Context, print_rows
from batchdeck.tui.cli.showing import json_option, show, watch_option


@click.group()
def ask() -> None:
    """List and answer what agents ask."""


@ask.command("list")
@watch_option
@json_option
@click.pass_obj
def list_asks(context: Context, as_json: bool, watch: bool) -> None:
    """List the open questions, oldest first."""
    show(context, _documents, _print_asks, as_json=as_json, watch=watch)


def _documents(view: DeckView) -> list[dict[str, Any]]:
    return [_document(view, found) for found in view.asks.values()]


def _document(view: DeckView, found: Ask) -> dict[str, Any]:
    return {
        "ask": str(found.id),
        "turn": str(found.turn),
        "agent": view.turns[found.turn].agent,
        "question": found.question,
        "permission": found.is_permission,
        "covers": found.covers or None,
        "choices": list(found.choices),
        "schema": _schema(found),
        "default": found.default,
        "opened_ms": found.opened_ms,
    }


def _schema(found: Ask) -> Any:
    """The JSON schema of the answer; as text where it is none."""
    try:
        return None if found.schema is None else json.loads(found.schema)
    except ValueError:
        return found.schema


def _print_asks(document: object, view: DeckView) -> None:
    cells = [
        [str(found.id), f"#{found.turn}", view.turns[found.turn].agent, clean_line(found.headline)]
        for found in view.asks.values()
    ]
    print_rows(cells, ["ask", "turn", "agent", "question"])


@ask.command("show")
@click.argument("number", metavar="ASK", shell_complete=completing.asks)
@watch_option
@json_option
@click.pass_obj
def show_ask(context: Context, number: str, as_json: bool, watch: bool) -> None:
    """Show an open question in full, with what it may be answered with."""

    def document(view: DeckView) -> dict[str, Any]:
        found = view.asks.get(number_in(number) or 0)
        if found is None:
            raise NotFound(f"There is no open ask {number}.")
        return _document(view, found)

    show(context, document, _print_ask, as_json=as_json, watch=watch)


def _print_ask(document: dict[str, Any], view: DeckView) -> None:
    click.echo(f"#{document['turn']} {document['agent']}")
    click.echo(clean_text(document["question"]))
    for choice in document["choices"]:
        click.echo(f"  batchdeck ask answer {document['ask']} {shlex.quote(choice)}")
    found = view.asks[int(document["ask"])]
    for words in fitting_words(found):
        click.echo(clean_text(words))


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
@watch_option
@json_option
@click.pass_obj
def allowed(context: Context, as_json: bool, watch: bool) -> None:
    """List what agents may always do."""
    show(context, _allowed, _print_allowed, as_json=as_json, watch=watch)


def _allowed(view: DeckView) -> list[dict[str, Any]]:
    return [
        {
            "allowance": str(one.id),
            "agent": one.agent,
            "covers": one.covers,
            "by": one.by,
            "at_ms": one.at_ms,
        }
        for one in view.allowances.values()
    ]


def _print_allowed(document: list[dict[str, Any]], view: DeckView) -> None:
    columns = ("allowance", "agent", "covers", "by")
    print_rows([[str(row[name]) for name in columns] for row in document], list(columns))


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
