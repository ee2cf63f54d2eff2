"""One transaction as five awaits of aiosqlite, and as one hop to its thread.

    python -m tests.bench.hops [--transactions 2000]

What decided for `store.connection.Connection.run`: with a loop that has slack the two are alike,
with one that is busy each further hop waits for the loop once more.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path

import aiosqlite
import anyio
import anyio.lowlevel

ROWS = [(number, "x" * 40) for number in range(20)]
SLICE_SECONDS = 0.002
"""How long the loop is busy at a time, where it is."""


async def five_awaits(connection: aiosqlite.Connection) -> None:
    await connection.execute("BEGIN IMMEDIATE")
    await connection.executemany("INSERT INTO t (a, b) VALUES (?, ?)", ROWS)
    await connection.executemany("UPDATE t SET b = ? WHERE rowid = ?", [("y", 1)])
    await connection.execute_fetchall("SELECT count(*) FROM t WHERE rowid < 5")
    await connection.execute("COMMIT")


async def one_hop(connection: aiosqlite.Connection) -> None:
    await connection._execute(_whole, connection._conn)  # type: ignore[no-untyped-call]


def _whole(raw: sqlite3.Connection) -> None:
    raw.execute("BEGIN IMMEDIATE")
    raw.executemany("INSERT INTO t (a, b) VALUES (?, ?)", ROWS)
    raw.executemany("UPDATE t SET b = ? WHERE rowid = ?", [("y", 1)])
    raw.execute("SELECT count(*) FROM t WHERE rowid < 5").fetchall()
    raw.execute("COMMIT")


async def _busy() -> None:
    while True:
        end = time.perf_counter() + SLICE_SECONDS
        while time.perf_counter() < end:
            pass
        await anyio.lowlevel.checkpoint()


async def measured(form: object, transactions: int, *, busy: bool) -> float:
    """Transactions a second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        async with aiosqlite.connect(path, isolation_level=None) as connection:
            await connection.execute("PRAGMA journal_mode = WAL")
            await connection.execute("PRAGMA synchronous = NORMAL")
            await connection.execute("CREATE TABLE t (a INTEGER, b TEXT)")
            async with anyio.create_task_group() as load:
                if busy:
                    load.start_soon(_busy)
                begin = time.perf_counter()
                for _ in range(transactions):
                    await form(connection)  # type: ignore[operator]
                seconds = time.perf_counter() - begin
                load.cancel_scope.cancel()
    return transactions / seconds


async def compare(transactions: int) -> None:
    """Prints both forms, on a free loop and on a busy one."""
    for busy in (False, True):
        count = transactions // 10 if busy else transactions
        five = await measured(five_awaits, count, busy=busy)
        one = await measured(one_hop, count, busy=busy)
        loop = "busy" if busy else "free"
        print(f"loop {loop}: five awaits {five:.0f}/s, one hop {one:.0f}/s, {one / five:.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--transactions", type=int, default=2000)
    anyio.run(compare, parser.parse_args().transactions)


if __name__ == "__main__":
    main()
