"""Commands about batch files: an example, a check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from batchdeck.core.batchfile.example import DEFAULT_PRESET, PRESETS, example
from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.batchfile.settings import CheckUi
from batchdeck.core.batchfile.surroundings import missing_here
from batchdeck.core.errors import BadInput, NotFound
from batchdeck.core.model.foreach import foreach_from
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.text import counted
from batchdeck.tui.cli.context import Context, faults_of_ui, print_json
from batchdeck.tui.cli.showing import json_option

FILE = click.argument("file", type=click.Path(path_type=Path))


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("batch.yaml"))
@click.option(
    "--agent",
    "preset",
    default=DEFAULT_PRESET,
    metavar="PRESET",
    help=f"One of {', '.join(PRESETS)}.",
)
def init(file: Path, preset: str) -> None:
    """Write a commented example batch file; never overwrites."""
    text = example(preset)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise BadInput(f"{file} exists already, and is left as it is.") from None
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}.") from error
    click.echo(f"{file} written. Next: batchdeck check {file}, then batchdeck run {file}")


def read_for(context: Context, file: Path, check_ui: CheckUi | None = None) -> BatchSpec:
    """A batch file, read with the deck's configuration and the agents it knows.

    `check_ui`: what holds the configuration's `ui` block against what the screen has; without it
    the screen itself will say what it cannot use.

    Raises:
        BatchFileFaults: anything in it is wrong.
    """
    settings = context.settings if check_ui is None else context.settings_checked_by(check_ui)
    spec = read_batch(file, config=settings, agents=known_agents(context))
    used = {task.agent for task in spec.tasks}
    if spec.foreach is not None:
        used |= {step.agent for step in foreach_from(spec.foreach).steps}
    configured = {name: agent for name, agent in settings.agents.items() if name in used}
    return replace(spec, agents={**configured, **spec.agents})


def known_agents(context: Context) -> tuple[str, ...]:
    """The agents that the deck has already."""
    try:
        with context.look() as look:
            return look.agent_names()
    except NotFound:
        return ()


@click.command()
@FILE
@json_option
@click.pass_obj
def check(context: Context, file: Path, as_json: bool) -> None:
    """Check a batch file; prints FILE:LINE:COL and what is wrong, for every fault.

    A program or a folder that is not there on this machine is a warning, and no fault.
    """
    try:
        spec = read_for(context, file, faults_of_ui)
    except BadInput as error:
        if as_json:
            print_json({"ok": False, "error": error.code, "faults": error.message.splitlines()})
            click.get_current_context().exit(error.exit_code)
        raise
    warnings = [str(one) for one in missing_here(file, spec, context.environment.get("PATH"))]
    tasks, items = split_items(spec.tasks)
    if as_json:
        document = {"ok": True, "name": spec.name, "tasks": len(tasks), "items": len(items)}
        print_json({**document, "cannot_run_yet": None, "warnings": warnings})
        return
    counts = [counted(len(items), "item")] if spec.foreach is not None else []
    counts += [counted(len(tasks), "task"), counted(len(spec.agents), "agent")]
    click.echo(f"{file}: {', '.join([spec.name, *counts])}: no fault")
    for warning in warnings:
        click.echo(warning)


def split_items(tasks: tuple[TaskSpec, ...]) -> tuple[list[TaskSpec], list[TaskSpec]]:
    """A batch's own tasks, and the items of its foreach."""
    items = [task for task in tasks if task.index is not None]
    return [task for task in tasks if task.index is None], items
