"""`attach --plain`: what happens on a deck that is dispatched elsewhere, a line a change."""

from __future__ import annotations

import signal

import anyio
import click

from batchdeck.core.model.event import Event
from batchdeck.core.port import Deck
from batchdeck.core.text import clean_line
from batchdeck.tui.cli.context import Context
from batchdeck.tui.cli.lines import LONGEST_WORDS, plain_words, standing_line
from batchdeck.tui.present.by_then import ended_by_then
from batchdeck.tui.present.ended import Ended, EndedTasks
from batchdeck.tui.present.happenings import clock_time

_PAGE = 500


async def follow_plainly(context: Context) -> int:
    """Prints until a signal, or until nobody dispatches any more; returns the exit code.

    Raises:
        NoSupervisor: nobody dispatches the deck.
    """
    left = _Left()
    async with (
        context.doors.attach(context.paths.socket, True) as deck,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_watch_signals, left, tasks.cancel_scope)
        await _print_changes(deck)
        tasks.cancel_scope.cancel()
    return left.code


class _Left:
    """How it ended."""

    code = 0


async def _watch_signals(left: _Left, scope: anyio.CancelScope) -> None:
    watched = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    with anyio.open_signal_receiver(*watched) as received:
        async for number in received:
            left.code = 128 + number
            scope.cancel()
            return


async def _print_changes(deck: Deck) -> None:
    click.echo(standing_line(deck.view))
    latest = await deck.events(-1, 1)
    seen = latest[-1].seq if latest else 0
    tasks = EndedTasks()
    while deck.view.supervised:
        view = await deck.wait_newer(deck.view.revision)
        if not view.supervised:
            break
        while found := await deck.events(seen, _PAGE):
            seen = found[-1].seq
            ended = ended_by_then(found, deck.view, tasks)
            for event in found:
                click.echo(_line(event, ended.get(event.seq)))
    click.echo("The supervisor has gone; nobody dispatches this deck.")


def _line(event: Event, ended: Ended | None) -> str:
    words = clean_line(plain_words(event, ended), LONGEST_WORDS)
    return f"{clock_time(event.at_ms)} {words}"
