"""Brings a deck's file to the newest schema, one numbered step per transaction."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from importlib import resources

from batchdeck.core.errors import StoreError
from batchdeck.core.points import reached

_NAME = re.compile(r"(\d{4})_\w+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str


def migrations() -> tuple[Migration, ...]:
    """Every packaged migration, in order."""
    folder = resources.files("batchdeck.core.store.migrations")
    found = [
        Migration(int(match[1]), entry.name, entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if (match := _NAME.fullmatch(entry.name))
    ]
    return tuple(sorted(found, key=lambda migration: migration.number))


def version(raw: sqlite3.Connection) -> int:
    """The number of the last migration that this file has seen."""
    return int(raw.execute("PRAGMA user_version").fetchone()[0])


def migrate(raw: sqlite3.Connection) -> list[str]:
    """Applies what is missing, and returns the names of what it applied.

    Raises:
        StoreError: the file was written by a newer batchdeck; it is left untouched.
    """
    known = migrations()
    newest = known[-1].number
    current = version(raw)
    if current > newest:
        raise StoreError(
            f"This deck was written by a newer batchdeck (schema {current}, this one knows "
            f"{newest}). Nothing was changed; update batchdeck."
        )
    missing = [migration for migration in known if migration.number > current]
    for migration in missing:
        _apply(raw, migration)
    return [migration.name for migration in missing]


def _apply(raw: sqlite3.Connection, migration: Migration) -> None:
    raw.execute("BEGIN IMMEDIATE")
    try:
        if version(raw) < migration.number:  # another process may have been quicker
            for statement in statements(migration.sql):
                raw.execute(statement)
                reached("migrate")
            raw.execute(f"PRAGMA user_version = {migration.number}")
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:  # a full disk has ended it already
            raw.execute("ROLLBACK")
        raise


def statements(script: str) -> list[str]:
    """The single statements of a script; `executescript` would commit on its own."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
