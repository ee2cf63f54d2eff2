"""The command line's root: global options, lazily loaded commands, errors as one line."""

from __future__ import annotations

import difflib
import errno
import importlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from batchdeck import __version__
from batchdeck.core.errors import BadInput, BatchdeckError
from batchdeck.core.text import is_whole
from batchdeck.tui.cli.context import Context, Doors, error_document, print_json

_COMMANDS: Mapping[str, str] = {
    "demo": "running",
    "init": "files",
    "check": "files",
    "plan": "planning",
    "run": "running",
    "resume": "running",
    "status": "showing",
    "tasks": "showing",
    "turns": "showing",
    "agents": "showing",
    "batches": "showing",
    "events": "showing",
    "logs": "logs",
    "why": "explaining",
    "what-if": "explaining",
    "limit": "changing",
    "send": "changing",
    "stop": "changing",
    "hold": "changing",
    "release": "changing",
    "drain": "changing",
    "reconcile": "changing",
    "export": "exporting",
    "attach": "attaching",
    "doctor": "doctor",
    "queue": "queueing",
    "agent": "defining",
    "task": "tasks",
    "ask": "asks",
}
"""Each command with the module that holds it, in the order in which help lists them."""


_WHOLE_SENTENCE = 400
_CODES = """\b
Exit codes:
  0   done, all completed        1   failed, or cancelled
  2   bad input, nothing changed 3   busy, or held
  4   no supervisor              5   completed with errors
  73  another supervisor holds the deck
  128+n  ended by signal n
"""


def _deck_after() -> click.Option:
    """`--deck` after the command's name, too."""

    def remember(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.obj.deck = value

    return click.Option(
        ["--deck", "deck_after"],
        metavar="DIR",
        expose_value=False,
        callback=remember,
        help="The deck's folder.",
    )


class Deferred(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        found = importlib.import_module(f"batchdeck.tui.cli.{module}")
        command: click.Command = getattr(found, cmd_name.replace("-", "_"))
        within = command.commands.values() if isinstance(command, click.Group) else ()
        for each in (command, *within):
            if not any(parameter.name == "deck_after" for parameter in each.params):
                each.params.append(_deck_after())
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, with each first sentence whole."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                rows.append((name, command.get_short_help_str(_WHOLE_SENTENCE)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest names where there is none."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], _COMMANDS, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else " See batchdeck --help."
            raise BadInput(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            sys.exit(0)  # whoever read has seen enough


@click.group(
    cls=Deferred,
    invoke_without_command=True,
    epilog=_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="batchdeck")
@click.option(
    "--deck",
    metavar="DIR",
    help="The deck's folder. Default: the nearest .batchdeck/ upward from here.",
)
@click.option("--plain", is_flag=True, help="A line for every change instead of the dashboard.")
@click.pass_context
def root(ctx: click.Context, deck: str | None, plain: bool) -> None:
    """Run batches of agents under limits, and see why each one waits.

    Without a command: opens the dashboard on this deck, and dispatches.

    \b
      batchdeck demo               a scripted batch, no key and no network needed
      batchdeck init batch.yaml    a commented example to start from
      batchdeck run batch.yaml     run it in the dashboard (--headless: without)
      batchdeck status             what runs, what waits, from any terminal
    """
    context: Context = ctx.obj
    context.deck = deck
    if ctx.invoked_subcommand is None:
        from batchdeck.tui.cli.running import open_dashboard, open_plain

        ctx.exit(open_plain(context) if plain else open_dashboard(context))
    if plain:
        raise BadInput("--plain goes behind the command here: run FILE --plain, attach --plain.")


def run_command_line(doors: Doors, environment: Mapping[str, str]) -> int:
    """Runs one invocation, and returns its exit code; never raises for what a person did."""
    context = Context(doors=doors, environment=environment, here=Path.cwd())
    try:
        _refuse_broken_text(sys.argv[1:])
        code = root.main(prog_name="batchdeck", standalone_mode=False, obj=context)
    except click.exceptions.Abort:
        return 130
    except NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        return _refused(BadInput(_usage_words(error)))
    except click.ClickException as error:
        return _refused(BadInput(error.format_message()))
    except KeyboardInterrupt:
        return 130
    except BatchdeckError as error:
        return _refused(error)
    except Exception as error:  # noqa: BLE001 - the last door: a person gets words, not a traceback
        return _refused(_unforeseen(context, error))
    return code if isinstance(code, int) else 0


def _refused(error: BatchdeckError) -> int:
    """Says an error where errors go, and to programs that asked for JSON as a document too."""
    click.echo(error.message, err=True)
    if "--json" in takewhile(lambda argument: argument != "--", sys.argv[1:]):
        with suppress(OSError):
            print_json(error_document(error))
    return error.exit_code


def _usage_words(error: click.UsageError) -> str:
    """What is wrong with a command as it was typed, in one line."""
    words = " ".join(error.format_message().split()).rstrip(".")
    command = "batchdeck" if error.ctx is None else error.ctx.command_path
    return f"{words}. See {command} --help."


def _refuse_broken_text(arguments: Sequence[str]) -> None:
    """Every text here ends up in a database or a terminal, and both want UTF-8.

    Raises:
        BadInput: an argument is none.
    """
    for argument in arguments:
        if not is_whole(argument):
            shown = argument.encode("utf-8", "backslashreplace").decode()
            raise BadInput(f"This argument is not UTF-8: {shown}")


def _unforeseen(context: Context, error: Exception) -> BatchdeckError:
    """A fault of batchdeck itself: one line, and a report without the values of anything."""
    from batchdeck.tui.cli.crashing import report_crash

    if (
        isinstance(error, OSError)
        and error.errno in (errno.ENOSPC, errno.EIO)
        and not error.filename
    ):
        return BatchdeckError(f"Standard output cannot be written: {error.strerror}.")
    known = _first_known(error)
    if known is not None:
        return known
    path = report_crash(context.paths, error)
    where = f"; a report is in {path}" if path is not None else ""
    return BatchdeckError(f"batchdeck itself failed ({type(error).__name__}){where}.")


def _first_known(error: BaseException) -> BatchdeckError | None:
    """An error with words for a person, somewhere inside a group of them."""
    if isinstance(error, BatchdeckError):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for part in error.exceptions if (found := _first_known(part))), None)
    return None
