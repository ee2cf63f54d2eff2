"""Asks once before a batch file that somebody else could have written may name programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from batchdeck.core.batchfile.trust import Trust, distrust, judge, provenance_of
from batchdeck.core.errors import BadInput
from batchdeck.core.model.spec import BatchSpec
from batchdeck.core.text import clean_line
from batchdeck.tui.cli.context import Context

APPROVED = "approved.json"


def approve(context: Context, file: Path, spec: BatchSpec, *, trust: bool) -> None:
    """Lets a trusted or approved file through; asks about another one.

    Raises:
        BadInput: it is not approved, or there is nobody to ask.
    """
    found = _judged(context, file, spec)
    if found is None:
        return
    if not trust:
        _ask(file, found.reason, found.shown)
    context.paths.make()
    _remember(context.paths.root / APPROVED, found.fingerprint)


def needs_approval(context: Context, file: Path, spec: BatchSpec) -> str | None:
    """Why `run` will ask before it uses the file; None: it will not.

    Raises:
        BadInput: the file cannot be looked at.
    """
    found = _judged(context, file, spec)
    return None if found is None else found.reason


def _judged(context: Context, file: Path, spec: BatchSpec) -> Trust | None:
    """What is to be approved; None: nothing is."""
    try:
        found = judge(spec, provenance_of(file))
    except OSError as error:
        raise BadInput(f"{file} cannot be looked at: {error.strerror}.") from error
    if found.trusted or not found.shown:
        return None
    return None if found.fingerprint in _approved(context.paths.root / APPROVED) else found


def _ask(file: Path, reason: str, shown: tuple[str, ...]) -> None:
    click.echo(f"{file} is not trusted: {clean_line(reason)}. It wants to use:", err=True)
    for line in shown:
        click.echo(f"  {clean_line(line)}", err=True)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput("Nobody is there to approve it; --trust does.")
    if not click.confirm("Approve this file's commands?", default=False, err=True):
        raise BadInput("Not approved; nothing was changed.")


def _approved(store: Path) -> list[str]:
    try:
        if distrust(provenance_of(store)):
            return []
        found = json.loads(store.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return [str(entry) for entry in found] if isinstance(found, list) else []


def _remember(store: Path, fingerprint: str) -> None:
    from batchdeck.core.private import write_private

    text = json.dumps([*_approved(store), fingerprint])
    store.unlink(missing_ok=True)
    write_private(store, text.encode())
