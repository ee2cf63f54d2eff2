"""The command that writes results and history for others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from batchdeck.core.errors import BadInput
from batchdeck.tui.cli.context import Context


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "html"]),
    required=True,
    help="JSON lines, a table, or a report for people.",
)
@click.option("--batch", metavar="NAME", help="Only this batch.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A new file of mode 0600; default: standard output.",
)
@click.pass_obj
def export(context: Context, form: str, batch: str | None, output: Path | None) -> None:
    """Write every task's result, in batch order, with what it took."""
    with context.look() as look:
        if batch is not None and batch not in look.view().batches:
            raise BadInput(f"There is no batch {batch!r} on this deck.", code="not_found")
        text = look.export(form, batch)
        if output is None:
            # these formats are UTF-8, whatever the terminal or the locale is
            for piece in text:
                sys.stdout.buffer.write(piece.encode("utf-8"))
            return
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            descriptor = os.open(output, flags, 0o600)
        except FileExistsError:
            raise BadInput(f"{output} exists already, and is left as it is.") from None
        except OSError as error:
            raise BadInput(f"{output} cannot be written: {error.strerror}.") from error
        with open(descriptor, "w", encoding="utf-8") as file:
            file.writelines(text)
    click.echo(f"{output} written")
