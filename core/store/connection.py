"""Connections to a deck's file: one that writes in whole transactions, others that read."""

from __future__ import annotations

import os
import resource
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from batchdeck.core.errors import StoreError

_Result = TypeVar("_Result")

_WRITER_PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA wal_autocheckpoint = 2000;
PRAGMA cache_size = -65536;
PRAGMA temp_store = MEMORY;
PRAGMA busy_timeout = 1500;
PRAGMA foreign_keys = ON;
"""


def create_file(path: Path) -> None:
    """Makes an empty database file of mode 0600, whatever the umask; keeps one that is there.

    SQLite gives `-wal` and `-shm` the mode of the file. An existing file is never opened here:
    closing it again would drop the locks of this process's own connections
    (sqlite.org/howtocorrupt.html, 2.2).
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    os.chmod(path, 0o600)


def in_words(error: sqlite3.Error) -> str:
    """What SQLite has to say, for a person."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    primary = code & 0xFF
    if primary == sqlite3.SQLITE_BUSY:
        return "The deck's database is locked by another program."
    if primary == sqlite3.SQLITE_FULL:
        return "The deck's database cannot grow: the disk is full."
    if primary == sqlite3.SQLITE_CORRUPT:
        return (
            "The deck's database is damaged. Copy the deck's folder before anything else; "
            "batchdeck doctor looks closer."
        )
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        return "The deck's database was left at its first write; the next run makes it anew."
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if code == sqlite3.SQLITE_IOERR_WRITE and limit != resource.RLIM_INFINITY:
        return (
            "The deck's database cannot be written: here files may not grow beyond "
            f"{limit // 1024} kB (ulimit -f)."
        )
    return f"The deck's database: {error}."


class Connection:
    """A database on a thread of its own; each call is one hop to that thread and back."""

    def __init__(self, inner: aiosqlite.Connection) -> None:
        self._inner = inner

    async def run(self, function: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Calls `function` with the raw connection on the connection's own thread.

        A whole transaction is one such call, so nothing that is cancelled can leave it half done.
        aiosqlite has no public call for this; `_execute` is pinned by version and by a test.

        Raises:
            StoreError: what SQLite has to say, in words.
        """
        try:
            result: _Result = await self._inner._execute(  # type: ignore[no-untyped-call]
                function, self._inner._conn
            )
        except sqlite3.Error as error:
            raise StoreError(in_words(error)) from error
        return result

    async def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """All rows of one query."""
        return await self.run(lambda raw: raw.execute(sql, parameters).fetchall())

    async def close(self) -> None:
        await self._inner.close()


async def open_writer(path: Path, synchronous: str = "full") -> Connection:
    """The one connection that writes and checkpoints. `synchronous`: `full` or `normal`."""
    create_file(path)
    raw = await _connect(str(path), uri=False)
    connection = Connection(raw)
    try:
        await connection.run(lambda c: _prepare_writer(c, synchronous))
    except BaseException:
        await connection.close()
        raise
    return connection


def _prepare_writer(raw: sqlite3.Connection, synchronous: str) -> None:
    raw.row_factory = sqlite3.Row
    raw.executescript(_WRITER_PRAGMAS)
    raw.execute(f"PRAGMA synchronous = {'NORMAL' if synchronous == 'normal' else 'FULL'}")


async def open_reader(path: Path) -> Connection:
    """A connection that cannot write, and never checkpoints."""
    raw = await _connect(f"{path.as_uri()}?mode=ro", uri=True)
    connection = Connection(raw)
    try:
        await connection.run(_prepare_reader)
    except BaseException:
        await connection.close()
        raise
    return connection


def _prepare_reader(raw: sqlite3.Connection) -> None:
    raw.row_factory = sqlite3.Row
    raw.execute("PRAGMA busy_timeout = 5000")
    raw.execute("PRAGMA query_only = ON")


def read_file(path: Path) -> sqlite3.Connection:
    """A plain read-only connection, for commands that look once and end."""
    raw = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    _prepare_reader(raw)
    return raw


async def _connect(database: str, *, uri: bool) -> aiosqlite.Connection:
    try:
        return await aiosqlite.connect(
            database, uri=uri, isolation_level=None, cached_statements=256
        )
    except sqlite3.Error as error:
        raise StoreError(f"{database} could not be opened: {error}.") from error
