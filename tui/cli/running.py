"""Commands that dispatch: run, resume, demo, and the dashboard itself."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from batchdeck.core.commands import AddBatch, Command, GatherReady, ResumeBatch
from batchdeck.core.errors import BadInput
from batchdeck.core.model.batch import OnError
from batchdeck.core.model.limit import read_limit_value, read_status_limits
from batchdeck.core.model.spec import BatchSpec
from batchdeck.core.paths import DeckPaths
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.changing import read_assignments, who
from batchdeck.tui.cli.context import Context, Manner, Opening
from batchdeck.tui.cli.showing import json_option

_DUMB = "dumb"
"""The TERM of a terminal that cannot move its cursor."""

if TYPE_CHECKING:
    from batchdeck.core.batchfile.flags import NotGiven


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--all-ready", is_flag=True, help="One batch of all READY tasks in no active batch.")
@click.option("--headless", is_flag=True, help="Without the dashboard.")
@click.option("--max-parallel", metavar="N", help="At most N turns of the batch at once.")
@click.option("--max-parallel-by-status", metavar="READY=3,…", help="Limits per status.")
@click.option("--max-active", metavar="N", help="Items of its foreach at work at once.")
@click.option("--max-outstanding", metavar="N", help="Items begun and not ended.")
@click.option("--agent-limit", metavar="coder=2", multiple=True, help="An agent's limit.")
@click.option(
    "--on-error",
    type=click.Choice([policy.value for policy in OnError]),
    help="When a task fails for good.",
)
@click.option("--reconcile-interval", type=click.FloatRange(min=0), metavar="SECONDS")
@click.option("--auto-resume", is_flag=True, help="Go on after an unclean stop without asking.")
@click.option("--on-lost", type=click.Choice(["ask", "retry", "fail"]), default="ask")
@click.option("--no-input", is_flag=True, help="Nobody will answer: an ask counts as failed.")
@click.option("--plain", is_flag=True, help="A line for every change instead of the dashboard.")
@click.option("--trust", is_flag=True, help="Approve this file's commands.")
@json_option
@click.pass_obj
def run(
    context: Context,
    file: Path | None,
    all_ready: bool,
    headless: bool,
    max_parallel: str | None,
    max_parallel_by_status: str | None,
    max_active: str | None,
    max_outstanding: str | None,
    agent_limit: tuple[str, ...],
    on_error: str | None,
    reconcile_interval: float | None,
    auto_resume: bool,
    on_lost: str,
    no_input: bool,
    plain: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Add a batch, or take it up again, and dispatch it.

    Opens the dashboard; with --headless, or without a terminal, prints what happens. --plain prints
    every change in a line of words, --json every event as JSON.
    """
    if (file is None) == (not all_ready):
        raise BadInput("Give a batch file, or --all-ready.")
    command: Command
    if file is None:
        context.need_deck()
        command = GatherReady(by=who(context))
    else:
        spec = _read(context, file, trust)
        spec = _with_flags(
            context,
            spec,
            max_parallel,
            max_parallel_by_status,
            agent_limit,
            on_error,
            reconcile_interval,
            (max_active, max_outstanding),
        )
        command = AddBatch(spec=spec, by=who(context))
    opening = Opening(
        hold_after_unclean_stop=not auto_resume,
        on_lost=on_lost,
        no_input=no_input,
    )
    manner = Manner(as_json=as_json, plain=plain)
    code = dispatch(context, context.paths, command, opening, manner, headless=headless or plain)
    click.get_current_context().exit(code)


def _read(context: Context, file: Path, trust: bool) -> BatchSpec:
    from batchdeck.tui.cli.approving import approve
    from batchdeck.tui.cli.files import read_for

    spec = read_for(context, file)
    approve(context, file, spec, trust=trust)
    return spec


def _with_flags(
    context: Context,
    spec: BatchSpec,
    max_parallel: str | None,
    by_status: str | None,
    agent_limits: tuple[str, ...],
    on_error: str | None,
    reconcile_interval: float | None,
    items: tuple[str | None, str | None],
) -> BatchSpec:
    from batchdeck.core.batchfile.flags import with_flags

    parts = [part for value in agent_limits for part in value.split(",")]
    return with_flags(
        spec,
        max_parallel=_given(max_parallel, "--max-parallel"),
        max_active=_given(items[0], "--max-active"),
        max_outstanding=_given(items[1], "--max-outstanding"),
        by_status=None if by_status is None else read_status_limits(by_status),
        agent_limits={
            name.strip(): read_limit_value(value, "--agent-limit")
            for name, value in read_assignments(tuple(parts))
        },
        on_error=None if on_error is None else OnError(on_error),
        reconcile_interval=reconcile_interval,
        config=context.settings,
    )


def _given(text: str | None, flag: str) -> int | NotGiven | None:
    from batchdeck.core.batchfile.flags import NOT_GIVEN

    return NOT_GIVEN if text is None else read_limit_value(text, flag)


@click.command()
@click.argument("batch", required=False, shell_complete=completing.batches)
@click.option("--headless", is_flag=True, help="Without the dashboard.")
@click.option("--auto-resume", is_flag=True, help="Go on after an unclean stop without asking.")
@click.option("--on-lost", type=click.Choice(["ask", "retry", "fail"]), default="ask")
@click.option("--no-input", is_flag=True, help="Nobody will answer: an ask counts as failed.")
@click.option("--plain", is_flag=True, help="A line for every change instead of the dashboard.")
@json_option
@click.pass_obj
def resume(
    context: Context,
    batch: str | None,
    headless: bool,
    auto_resume: bool,
    on_lost: str,
    no_input: bool,
    plain: bool,
    as_json: bool,
) -> None:
    """Take up what is unfinished, of one batch or of all."""
    context.need_deck()
    command = ResumeBatch(batch=batch, by=who(context))
    opening = Opening(
        hold_after_unclean_stop=not auto_resume,
        on_lost=on_lost,
        no_input=no_input,
    )
    manner = Manner(as_json=as_json, plain=plain)
    code = dispatch(context, context.paths, command, opening, manner, headless=headless or plain)
    click.get_current_context().exit(code)


@click.command()
@click.option("--agents", "agent_count", type=click.IntRange(1, 50), default=4, show_default=True)
@click.option(
    "--tasks", "task_count", type=click.IntRange(1, 100_000), default=60, show_default=True
)
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same play.")
@click.option("--headless", is_flag=True, help="Without the dashboard.")
@json_option
@click.pass_obj
def demo(
    context: Context, agent_count: int, task_count: int, seed: int, headless: bool, as_json: bool
) -> None:
    """Play a scripted batch with agents that need no key and no network."""
    from batchdeck.tui.cli.demonstration import demo_batch, demo_deck

    attended = not headless and has_terminal()
    paths = DeckPaths(Path(context.deck).absolute()) if context.deck else demo_deck()
    spec = demo_batch(agent_count, task_count, seed, asks=attended)
    command = AddBatch(spec=spec, by=who(context))
    code = dispatch(context, paths, command, Opening(), Manner(as_json=as_json), headless=headless)
    played = code in (0, 1, 5) and headless
    click.get_current_context().exit(0 if played else code)


def dispatch(
    context: Context,
    paths: DeckPaths,
    command: Command | None,
    opening: Opening,
    manner: Manner,
    *,
    headless: bool,
) -> int:
    """Opens the deck and dispatches, with or without a screen; returns the exit code."""
    if not headless and not manner.as_json and has_terminal():
        from batchdeck.tui.cli.dashboard import run_dashboard

        return anyio.run(run_dashboard, context, paths, command, opening)
    why = why_no_dashboard()
    if not headless and why is not None:
        click.echo(f"{why}: running headless.", err=True)
    from batchdeck.tui.cli.headless import run_headless

    opening = _unattended(opening)
    return anyio.run(run_headless, context, paths, command, opening, manner)


def _unattended(opening: Opening) -> Opening:
    from dataclasses import replace

    refuse = opening.hold_after_unclean_stop
    return replace(opening, hold_after_unclean_stop=False, refuse_after_unclean_stop=refuse)


def has_terminal() -> bool:
    """Whether a dashboard can be drawn here."""
    return why_no_dashboard() is None


def why_no_dashboard() -> str | None:
    """Why none can be drawn here, in words; None: it can.

    Keys come from standard input; the screen is drawn on standard error or output.
    """
    if not (sys.stdin.isatty() and (sys.stderr.isatty() or sys.stdout.isatty())):
        return "A dashboard needs a terminal, and there is none here"
    return (
        f"TERM is {_DUMB}: no dashboard can be drawn" if os.environ.get("TERM") == _DUMB else None
    )


def open_dashboard(context: Context) -> int:
    """`batchdeck` without a command."""
    why = why_no_dashboard()
    if why is not None:
        raise BadInput(
            f"{why}. batchdeck --plain prints a line for every change; batchdeck status looks once."
        )
    from batchdeck.tui.cli.dashboard import run_dashboard

    opening = Opening(hold_after_unclean_stop=True)
    return anyio.run(run_dashboard, context, context.paths, None, opening)


def open_plain(context: Context) -> int:
    """`batchdeck --plain`: dispatches until it is told to go, with a line for every change."""
    from batchdeck.tui.cli.headless import run_headless

    opening = Opening(hold_after_unclean_stop=True)
    manner = Manner(plain=True, stays=True)
    return anyio.run(run_headless, context, context.paths, None, opening, manner)


def event_clock() -> str:
    return time.strftime("%H:%M:%S")
