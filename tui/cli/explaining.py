"""Commands that explain: why something waits, and what a change would start."""

from __future__ import annotations

from typing import Any

import click

from batchdeck.core.clock import SystemClock
from batchdeck.core.control.wire import gate_documents
from batchdeck.core.errors import NotFound
from batchdeck.core.model.gate import Gate
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.gates import evaluate, shut
from batchdeck.core.rules.order import ordinal, place
from batchdeck.core.rules.plan import plan, with_limits
from batchdeck.core.view import DeckView
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.changing import limit_numbers, possible_limits
from batchdeck.tui.cli.context import Context, print_line
from batchdeck.tui.cli.finding import named_turn
from batchdeck.tui.cli.showing import MANY, json_option, show, watch_option
from batchdeck.tui.present.limits import limit_words


@click.command()
@click.argument("name", metavar="TASK|TURN", shell_complete=completing.tasks_and_turns)
@watch_option
@json_option
@click.pass_obj
def why(context: Context, name: str, as_json: bool, watch: bool) -> None:
    """Show every gate that keeps a task or #TURN waiting, who holds it and what frees it."""

    def document(view: DeckView) -> dict[str, Any]:
        turn, task = _named(view, name)
        return _document(view, turn, task, _gates(view, turn))

    def for_people(document: object, view: DeckView) -> None:
        turn, task = _named(view, name)
        _print(view, turn, task, _gates(view, turn))

    show(context, document, for_people, as_json=as_json, watch=watch, ended_turns=MANY)


def _gates(view: DeckView, turn: Turn | None) -> tuple[Gate, ...]:
    if turn is None or turn.state is not TurnState.QUEUED:
        return ()
    return evaluate(turn, view, SystemClock().now_ms())


def _named(view: DeckView, name: str) -> tuple[Turn | None, Task | None]:
    number, task = named_turn(view, name)
    turn = None if number is None else view.turns.get(number)
    if turn is None and task is None:
        raise NotFound(f"There is no turn #{number}.")
    return turn, task


def _note(turn: Turn | None, task: Task | None) -> str:
    """What to say of something that does not wait in the queue."""
    if turn is None:
        status = "" if task is None else f" It is {task.status}."
        return f"It has no turn.{status}"
    subject = f"#{turn.id}"
    if turn.state is TurnState.WAITING:
        return f"{subject} has asked something and waits for your answer."
    if turn.ended_ms is None:
        return f"{subject} is {turn.state}."
    error = f": {turn.error}" if turn.error else ""
    return f"{subject} has ended, {turn.state}{error}."


def _document(
    view: DeckView, turn: Turn | None, task: Task | None, gates: tuple[Gate, ...]
) -> dict[str, Any]:
    queued = turn is not None and turn.state is TurnState.QUEUED
    document: dict[str, Any] = {
        "turn": None if turn is None else str(turn.id),
        "task": None if task is None else task.key,
        "state": None if turn is None else turn.state,
        "position": place(turn, view) if turn is not None and queued else None,
        "gates": gate_documents(gates),
    }
    if not queued:
        document["note"] = _note(turn, task)
    elif not view.supervised:
        document["note"] = "Nobody dispatches this deck."
    elif view.fault:
        document["note"] = view.fault
    return document


def _print(view: DeckView, turn: Turn | None, task: Task | None, gates: tuple[Gate, ...]) -> None:
    if turn is None or turn.state is not TurnState.QUEUED:
        print_line(_note(turn, task))
        return
    name = f"#{turn.id}" if task is None else f"#{turn.id} {task.key}"
    print_line(f"{name} waits, {ordinal(place(turn, view))} of {turn.agent}")
    for gate in gates:
        print_line(gate_line(gate))
    if not view.supervised:
        print_line("Nobody dispatches this deck: batchdeck starts it.")
    elif view.fault:
        print_line(f"Nothing starts: {view.fault}.")
    elif not shut(gates):
        print_line("Nothing stands in its way: it starts with the next sweep.")


def gate_line(gate: Gate) -> str:
    """One gate for people: mark, name, numbers, holders, what frees it."""
    limit = "" if gate.limit is None else f" {limit_words(gate.used or 0, gate.limit)}"
    holders = ", ".join(
        f"#{holder.turn}" + (f" {holder.task}" if holder.task else "") for holder in gate.holders
    )
    place = f" ({gate.place} is occupied)" if gate.place else ""
    subject = f"{gate.subject}{limit}{place}".strip()
    parts = [f"{'✓' if gate.open else '✗'} {gate.name:<12}", subject]
    if not gate.open:
        parts.append(" · ".join(part for part in (holders, f"frees {gate.frees}") if part))
    return "  ".join(part for part in parts if part)


@click.command("what-if")
@click.argument(
    "changes", metavar="NAME=N…", nargs=-1, required=True, shell_complete=completing.limits
)
@watch_option
@json_option
@click.pass_obj
def what_if(context: Context, changes: tuple[str, ...], as_json: bool, watch: bool) -> None:
    """Show what would start if limits were these; changes nothing."""
    wanted_numbers = limit_numbers(changes)

    def document(view: DeckView) -> dict[str, Any]:
        wanted = possible_limits(view, wanted_numbers)
        found = plan(with_limits(view, wanted), SystemClock().now_ms())
        waits = [
            {"turn": str(waiter.turn), "gates": gate_documents(waiter.gates)}
            for waiter in found.waits
        ]
        return {"starts": [str(turn) for turn in found.starts], "waits": waits}

    show(context, document, _print_plan, as_json=as_json, watch=watch)


def _print_plan(document: dict[str, Any], view: DeckView) -> None:
    starts = ", ".join(f"#{turn}" for turn in document["starts"]) or "nothing"
    click.echo(f"starts now:   {starts}")
    waits = document["waits"]
    for waiter in waits[:_MOST_WAITING]:
        names = ", ".join(f"{gate['gate']} {gate['subject']}".strip() for gate in waiter["gates"])
        click.echo(f"still waits:  #{waiter['turn']} ({names})")
    if len(waits) > _MOST_WAITING:
        click.echo(f"              and {len(waits) - _MOST_WAITING} more")


_MOST_WAITING = 20
