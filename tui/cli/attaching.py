"""`attach`: a second dashboard, on a deck that another process dispatches."""

from __future__ import annotations

import anyio
import click

from batchdeck.core.errors import BadInput, NoSupervisor
from batchdeck.tui.cli.context import Context
from batchdeck.tui.cli.running import has_terminal


@click.command()
@click.option("--read-only", is_flag=True, help="Look only: nothing can be changed from there.")
@click.pass_obj
def attach(context: Context, read_only: bool) -> None:
    """Open another dashboard on a deck that is being dispatched elsewhere.

    It shows and does what the first one does; leaving it ends nothing. When the supervisor goes,
    what it last said stays on the screen, and when it comes back the screen goes on.
    """
    if not has_terminal():
        raise BadInput("attach needs a terminal. Use batchdeck status, or batchdeck events -f.")
    paths = context.paths
    if context.doors.holder(paths.lock) is None:
        raise NoSupervisor(
            f"Nobody dispatches the deck at {paths.root}. Start it with batchdeck or batchdeck run."
        )
    from batchdeck.tui.cli.dashboard import run_attached

    click.get_current_context().exit(anyio.run(run_attached, context, read_only))
