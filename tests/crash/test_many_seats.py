"""Twenty commands at a time beside two more dashboards: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from batchdeck.core.control.remote import GONE
from tests.support.length import so_many
from tests.support.terminal import Terminal
from tests.support.workspace import COMMAND, Workspace, until

pytestmark = pytest.mark.crash

SECONDS = so_many(10.0, 30.0)
AT_ONCE = 20


def test_twenty_commands_at_a_time_and_two_dashboards_lose_and_double_nothing(
    space: Workspace,
) -> None:
    agents = {"coder": {"parallelism_limit": 3}, "tester": {"parallelism_limit": 3}}
    first = [{"id": "T1", "agent": "coder", "prompt": f"say=first {space.until_told('first')}"}]
    process = space.start_run(space.batch(agents=agents, tasks=first, max_parallel=6), "--headless")
    seats = [
        Terminal([str(COMMAND), "attach"], space.folder, space.environment, rows=rows)
        for rows in (36, 24)
    ]
    for seat in seats:
        seat.until_shown("coder", "READY")
    accepted: list[str] = []

    def one(number: int) -> None:
        agent = "coder" if number % 2 else "tester"
        told = space.run(
            "send", agent, f"say=m{number}", "--on-busy", "queue", "--delivery-id",
            f"d{number // 2}", "--json",
        )  # fmt: skip
        assert told.code == 0, told
        accepted.append(told.json["turn"])
        if number % 10 == 0:
            space.run("limit", f"agent:{agent}={2 + number % 3}", code=0)

    end = time.monotonic() + SECONDS
    number = 0
    with ThreadPoolExecutor(AT_ONCE) as doors:
        while time.monotonic() < end:
            list(doors.map(one, range(number, number + AT_ONCE)))
            number += AT_ONCE
            for seat in seats:
                seat.read()
    deliveries = number // 2
    assert Counter(Counter(accepted).values()) == {2: deliveries}, "each delivery is one turn"
    space.tell("first")
    until(lambda: space.run("status", "--json").json["queued"] == 0)
    assert process.wait(60) == 0
    for seat in seats:
        seat.until_shown(GONE)
        seat.press("q")
        assert seat.leave() == 0
        seat.close()
    starts = Counter(record["turn"] for record in space.records() if record["event"] == "start")
    assert set(starts.values()) == {1}, "nothing ran twice"
    assert len(starts) == deliveries + 1, "everything ran"
    with closing(sqlite3.connect(space.deck / "deck.db")) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert raw.execute("SELECT count(*) FROM receipts").fetchone()[0] == deliveries
    print(json.dumps({"commands": number, "turns": len(starts), "seats": len(seats)}))
