"""The command that prints what an agent told."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

import click

from batchdeck.core.telling.said import Teller
from batchdeck.core.telling.transcript import Line, Transcript, teller_of
from batchdeck.core.text import clean_text
from batchdeck.core.view import DeckView
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.context import Context, Look
from batchdeck.tui.cli.finding import needed_turn
from batchdeck.tui.cli.showing import FOLLOW_SECONDS, MANY
from batchdeck.tui.present.told import plain_words

_PAGE = 1 << 16


@click.command()
@click.argument("task", shell_complete=completing.tasks_and_turns)
@click.option("-f", "--follow", is_flag=True, help="Go on until its turn ends.")
@click.option("--raw", is_flag=True, help="As the agent printed it, escapes and all.")
@click.pass_obj
def logs(context: Context, task: str, follow: bool, raw: bool) -> None:
    """Print the output of a task's (or #TURN's) latest attempt."""
    with context.look() as look:
        view = look.view(ended_turns=MANY)
        turn = needed_turn(view, task)
        transcript = Transcript(_teller_of(view, turn))
        for data in _output(look, turn, follow):
            if data is None:
                if not raw:
                    _print(transcript.flush())
                    click.echo("… another attempt")
                transcript = Transcript(_teller_of(view, turn))
                continue
            if raw:
                sys.stdout.buffer.write(data)
                continue
            for line in data.removesuffix(b"\n").split(b"\n"):
                _print(transcript.take(line))
        _print(transcript.flush())


def _teller_of(view: DeckView, number: int) -> Teller | None:
    turn = view.turns.get(number)
    return None if turn is None else teller_of(view.agents.get(turn.agent))


def _print(lines: Iterable[Line]) -> None:
    for line in lines:
        click.echo(clean_text(plain_words(line)))


def _output(look: Look, turn: int, follow: bool) -> Iterator[bytes | None]:
    """Whole lines of a turn's output, then what is left of it; None: another attempt begins."""
    start = 0
    pending = b""
    attempt: str | None = None
    while True:
        page = look.output(turn, start, _PAGE)
        if start and page.attempt != attempt:
            if pending:
                yield pending + b"\n"
            yield None
            start, pending, attempt = 0, b"", page.attempt
            continue
        start, attempt = page.end, page.attempt
        whole, newline, pending = (pending + page.data).rpartition(b"\n")
        if newline:
            yield whole + newline
        if page.data:
            continue
        if page.ended or not follow:
            break
        time.sleep(FOLLOW_SECONDS)
    if pending:
        yield pending + b"\n"
