"""The command that examines a deck and what it stands on, and mends what can be mended."""

from __future__ import annotations

import locale
import os
import shutil
import sys
from collections.abc import Sequence

import click

from batchdeck.core.doctor.finding import Finding, Grade, fine, remark
from batchdeck.core.text import clean_line
from batchdeck.tui.cli.context import Context, print_json
from batchdeck.tui.cli.showing import json_option

_SIGNS = {Grade.FINE: "ok", Grade.REMARK: "note", Grade.PROBLEM: "PROBLEM"}
_SMALLEST = (40, 10)


@click.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended, and say what was done.")
@json_option
@click.pass_obj
def doctor(context: Context, repair: bool, as_json: bool) -> None:
    """Check the deck, its processes, the agents' commands, the disk and the terminal.

    Exit code 0: no problem is left; 1: there is one.
    """
    found = [*context.doors.doctor(context.paths, context.environment, repair), *_terminal(context)]
    left = [one for one in found if one.grade is Grade.PROBLEM and one.mended is None]
    if as_json:
        print_json({"deck": str(context.paths.root), "sound": not left, "findings": _rows(found)})
    else:
        _print(found)
        click.echo(_verdict(found, len(left), repair))
    click.get_current_context().exit(1 if left else 0)


def _rows(found: Sequence[Finding]) -> list[dict[str, str | None]]:
    return [
        {"check": one.check, "grade": str(one.grade), "words": one.words, "mended": one.mended}
        for one in found
    ]


def _print(found: Sequence[Finding]) -> None:
    for one in found:
        done = f" → {one.mended}" if one.mended else ""
        click.echo(clean_line(f"{_SIGNS[one.grade]:8}{one.check:14}{one.words}{done}", 400))


def _verdict(found: Sequence[Finding], left: int, repair: bool) -> str:
    mended = sum(one.mended is not None for one in found)
    words = f"{mended} mended, " if mended else ""
    if not left:
        return f"{words}no problem left." if mended else "No problem found."
    hint = "" if repair else " batchdeck doctor --repair mends what can be mended."
    return f"{words}{left} problem{'s' if left > 1 else ''}.{hint}"


def _terminal(context: Context) -> list[Finding]:
    if not sys.stdout.isatty():
        return [remark("terminal", "there is none here; the dashboard needs one")]
    found = []
    term = context.environment.get("TERM", "")
    size = shutil.get_terminal_size()
    if term in ("", "dumb"):
        words = f"TERM is {term or 'not set'}: no dashboard here; batchdeck --plain prints lines"
        found.append(remark("terminal", words))
    if (size.columns, size.lines) < _SMALLEST:
        words = f"{size.columns}x{size.lines} is small; the dashboard likes 80x24 and more"
        found.append(remark("terminal", words))
    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") != "utf8":
        found.append(remark("terminal", f"its encoding is {encoding}, not UTF-8"))
    colour = "no colour" if os.environ.get("NO_COLOR") else term
    return found or [fine("terminal", f"{colour}, {size.columns}x{size.lines}")]
