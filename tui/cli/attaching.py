"""`attach`: a second dashboard, on a deck that another process dispatches."""

from __future__ import annotations

import anyio
import click

from batchdeck.core.errors import BadInput, NoSupervisor
from batchdeck.tui.cli.context import Context
from batchdeck.tui.cli.running import why_no_dashboard


@click.command()
@click.option("--read-only", is_flag=True, help="Look only: nothing can be changed from there.")
@click.option("--plain", is_flag=True, help="A line for every change instead of the dashboard.")
@click.pass_obj
def attach(context: Context, read_only: bool, plain: bool) -> None:
    """Open another dashboard on a deck that is being dispatched elsewhere.

    It shows and does what the first one does; leaving it ends nothing. When the supervisor goes,
    what it last said stays on the screen, and when it comes back the screen goes on.
    """
    why = None if plain else why_no_dashboard()
    if why is not None:
        raise BadInput(
            f"{why}. attach --plain prints a line for every change; batchdeck status looks once."
        )
    paths = context.paths
    if context.doors.holder(paths.lock) is None:
        raise NoSupervisor(
            f"Nobody dispatches the deck at {paths.root}. Start it with batchdeck or batchdeck run."
        )
    if plain:
        from batchdeck.tui.cli.plain import follow_plainly

        click.get_current_context().exit(anyio.run(follow_plainly, context))
    from batchdeck.tui.cli.dashboard import run_attached

    click.get_current_context().exit(anyio.run(run_attached, context, read_only))
