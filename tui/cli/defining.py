"""Commands that define the deck's agents."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import click

from batchdeck.core.batchfile.single import agent_values, read_agent
from batchdeck.core.commands import DefineAgent, RemoveAgent
from batchdeck.core.errors import BadInput, NotFound
from batchdeck.core.model.agent import AgentKind, PromptVia
from batchdeck.core.text import number_in
from batchdeck.tui.cli import completing
from batchdeck.tui.cli.changing import carry_out, who
from batchdeck.tui.cli.context import Context
from batchdeck.tui.cli.showing import json_option

_OPTIONS = (
    click.option(
        "--kind", type=click.Choice([kind.value for kind in AgentKind]), help="Default: command."
    ),
    click.option("--command", metavar="LINE", help="The program and its arguments, as in a shell."),
    click.option("--output", metavar="KIND", help="text, jsonl, claude-stream-json …"),
    click.option("--prompt-via", type=click.Choice([via.value for via in PromptVia])),
    click.option("--limit", "parallelism_limit", metavar="N", help="A whole number, or none."),
    click.option("--serial/--no-serial", default=None, help="One turn at a time."),
    click.option("--folder", metavar="PATH", help="Its working folder; makes it serial."),
    click.option("--timeout", "timeout_seconds", type=float, metavar="SECONDS"),
    click.option("--env", multiple=True, metavar="NAME=VALUE"),
    click.option("--pass-env", multiple=True, metavar="NAME", help="A variable it may see."),
    click.option("--base-url", metavar="ADDRESS", help="Of a chat server (kind openai)."),
    click.option("--model", metavar="NAME"),
    click.option("--api-key-env", metavar="NAME", help="The variable that holds the key."),
)


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group()
def agent() -> None:
    """Add, edit or remove an agent of the deck."""


@agent.command()
@click.argument("name")
@_with_options
@json_option
@click.pass_obj
def add(context: Context, /, name: str, as_json: bool, **given: Any) -> None:
    """Add an agent; the options are named as the keys of a batch file."""
    values = {"kind": AgentKind.COMMAND.value, **_values(given)}
    found = read_agent(name, values, context.here, context.settings)
    carry_out(context, DefineAgent(agent=found, by=who(context)), offline=True, as_json=as_json)


@agent.command()
@click.argument("name", shell_complete=completing.agents)
@_with_options
@json_option
@click.pass_obj
def edit(context: Context, /, name: str, as_json: bool, **given: Any) -> None:
    """Change an agent; what is not given stays. Queued turns take the new definition."""
    with context.look() as look:
        known = look.view().agents.get(name)
    if known is None:
        raise NotFound(f"There is no agent {name!r} to edit; batchdeck agents lists them.")
    values = {**agent_values(known), **_values(given)}
    found = read_agent(name, values, context.here, context.settings)
    command = DefineAgent(agent=found, create=False, by=who(context))
    carry_out(context, command, offline=True, as_json=as_json)


@agent.command()
@click.argument("name", shell_complete=completing.agents)
@json_option
@click.pass_obj
def remove(context: Context, name: str, as_json: bool) -> None:
    """Take an agent's definition away; refused while anything of it is unfinished."""
    carry_out(context, RemoveAgent(name=name, by=who(context)), offline=True, as_json=as_json)


def _values(given: dict[str, Any]) -> dict[str, Any]:
    """What was given, as a batch file would say it.

    Raises:
        BadInput: a limit, a command or a variable of no sensible form.
    """
    values = {key: value for key, value in given.items() if value not in (None, ())}
    if "command" in values:
        try:
            values["command"] = shlex.split(values["command"])
        except ValueError as error:
            raise BadInput(f"--command: {error}.") from None
    if "parallelism_limit" in values:
        values["parallelism_limit"] = _limit(values["parallelism_limit"])
    if "env" in values:
        values["env"] = dict(_variable(text) for text in values["env"])
    if "pass_env" in values:
        values["pass_env"] = list(values["pass_env"])
    return {key: str(v) if isinstance(v, str) else v for key, v in values.items()}


def _limit(text: str) -> int | None:
    if text.lower() == "none":
        return None
    number = number_in(text)
    if number is None:
        raise BadInput(f"--limit: {text!r} is not a limit. Give a whole number, or none.")
    return number


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"--env: {text!r} is not NAME=VALUE.")
    return name, value
