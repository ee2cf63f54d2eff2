"""Queue surgery from the command line: what waits, moved, edited, merged, given away, sent now."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from batchdeck.core.clock import SystemClock
from batchdeck.core.commands import (
    EditTurn,
    MergeTurns,
    MoveTurn,
    PutHold,
    ReleaseHold,
    RetargetTurn,
    SendNow,
    StopTurn,
)
from batchdeck.core.errors import BadInput
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.gates import gates_of, shut
from batchdeck.core.rules.order import service_order
from batchdeck.core.rules.reordering import Where
from batchdeck.core.rules.standing import Standing
from batchdeck.core.text import clean_line
from batchdeck.core.view import DeckView
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.changing import carry_out, who
from batchdeck.tui.cli.context import Context, print_rows
from batchdeck.tui.cli.documents import turn_document
from batchdeck.tui.cli.finding import check_known, needed_turn_number
from batchdeck.tui.cli.showing import json_option, show, watch_option
from batchdeck.tui.cli.standard_input import given_text

TURN = click.argument("turn", metavar="TURN", shell_complete=completing.turns)


@click.group()
def queue() -> None:
    """Look at what waits, in the order of service, and change it."""


@queue.command("list")
@click.option("--agent", metavar="NAME", help="Only what waits for this agent.")
@watch_option
@json_option
@click.pass_obj
def list_queue(context: Context, agent: str | None, as_json: bool, watch: bool) -> None:
    """List what waits, in the order of service, and what each waits for."""
    show(context, lambda view: _rows(view, agent), _print_queue, as_json=as_json, watch=watch)


def _rows(view: DeckView, agent: str | None) -> list[dict[str, Any]]:
    check_known("agent", agent, view.agents)
    now_ms = SystemClock().now_ms()
    standing = Standing(view)
    places: Counter[str] = Counter()
    rows = []
    for turn in (view.turns[number] for number in service_order(view)):
        places[turn.agent] += 1
        if agent is not None and turn.agent != agent:
            continue
        reasons = [gate.name for gate in shut(gates_of(turn, standing, now_ms))]
        document = turn_document(view, turn)
        rows.append({**document, "place": places[turn.agent], "gates": reasons})
    return rows


def _print_queue(rows: list[dict[str, Any]], view: DeckView) -> None:
    cells = [
        [
            f"#{row['turn']}",
            row["task"] or row["conversation"],
            row["agent"],
            str(row["place"]),
            ", ".join(row["gates"]) or "nothing",
            clean_line(row["title"], 80),
        ]
        for row in rows
    ]
    print_rows(cells, ["turn", "task", "agent", "place", "waits for", "what"])


@queue.command()
@TURN
@click.argument("where", metavar="WHERE")
@json_option
@click.pass_obj
def move(context: Context, turn: str, where: str, as_json: bool) -> None:
    """Move TURN among what waits for its agent.

    WHERE is first, last, up, down, before:TURN or after:TURN.
    """
    word, colon, other = where.partition(":")
    try:
        place_of = Where(word)
    except ValueError:
        options = "first, last, up, down, before:TURN, after:TURN"
        raise BadInput(f"{where!r} is no place in the queue. There are: {options}.") from None
    if (place_of in (Where.BEFORE, Where.AFTER)) != bool(colon):
        raise BadInput(f"{where!r}: give a turn with before and after, and only there.")
    anchor = needed_turn_number(other) if colon else None
    command = MoveTurn(
        turn=needed_turn_number(turn), where=place_of, anchor=anchor, by=who(context)
    )
    carry_out(context, command, offline=True, as_json=as_json)


@queue.command()
@TURN
@click.argument("text")
@json_option
@click.pass_obj
def edit(context: Context, turn: str, text: str, as_json: bool) -> None:
    """Give TURN another text, at its place; TEXT - reads it from standard input."""
    words = given_text(text)
    command = EditTurn(turn=needed_turn_number(turn), text=words, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@queue.command()
@TURN
@json_option
@click.pass_obj
def hold(context: Context, turn: str, as_json: bool) -> None:
    """Hold TURN: it keeps its place and does not start."""
    command = PutHold(what=f"#{needed_turn_number(turn)}", by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@queue.command()
@TURN
@json_option
@click.pass_obj
def release(context: Context, turn: str, as_json: bool) -> None:
    """Release TURN."""
    command = ReleaseHold(what=f"#{needed_turn_number(turn)}", by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@queue.command()
@click.argument(
    "turns", metavar="TURN TURN …", nargs=-1, required=True, shell_complete=completing.turns
)
@json_option
@click.pass_obj
def merge(context: Context, turns: tuple[str, ...], as_json: bool) -> None:
    """Make one message of several, at the first one's place."""
    numbers = tuple(needed_turn_number(turn) for turn in turns)
    carry_out(context, MergeTurns(turns=numbers, by=who(context)), offline=True, as_json=as_json)


@queue.command()
@TURN
@click.argument("agent", shell_complete=completing.agents)
@json_option
@click.pass_obj
def retarget(context: Context, turn: str, agent: str, as_json: bool) -> None:
    """Give TURN to another agent, at its place."""
    command = RetargetTurn(turn=needed_turn_number(turn), agent=agent, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@queue.command()
@TURN
@json_option
@click.pass_obj
def delete(context: Context, turn: str, as_json: bool) -> None:
    """Cancel TURN; one that has started meanwhile is left alone (use stop)."""
    number = needed_turn_number(turn)
    with context.look() as look:
        found = look.view().turns.get(number)
    if found is not None and found.state is not TurnState.QUEUED:
        raise BadInput(f"#{number} is {found.state}; batchdeck stop ends it.")
    command = StopTurn(turn=number, only_queued=True, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@queue.command()
@TURN
@json_option
@click.pass_obj
def now(context: Context, turn: str, as_json: bool) -> None:
    """Start TURN past the limits that are full; it is marked, and says which."""
    command = SendNow(turn=needed_turn_number(turn), by=who(context))
    carry_out(context, command, offline=False, as_json=as_json)
