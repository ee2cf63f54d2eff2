"""What happens elsewhere, through the whole program: found, followed, shown, and never twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from batchdeck.core.points import VARIABLE
from tests.flows.conftest import OpenTerminal
from tests.support.terminal import ESCAPE
from tests.support.tracker_server import TrackerServer, tracker_server
from tests.support.workspace import Workspace


@pytest.fixture
def server() -> Iterator[TrackerServer]:
    with tracker_server() as served:
        yield served


def followed(space: Workspace, server: TrackerServer) -> Path:
    """T1 works until it is told, T2 waits for it, T3 for their agent; T1's issue is open."""
    server.put(1)
    space.deck.mkdir(mode=0o700)
    config = {"kind": "github", "base_url": server.address, "token_env": "TRACKER_TOKEN"}
    (space.deck / "config.yaml").write_text(f"tracker: {config!r}\n")
    space.environment["TRACKER_TOKEN"] = server.token or ""
    return space.batch(
        reconciliation_interval_seconds=0.2,
        agents={"coder": {}},
        tasks=[
            {"id": "T1", "agent": "coder", "prompt": space.until_told("T1"), "issue": "o/r#1"},
            {"id": "T2", "agent": "coder", "prompt": "say=two", "depends_on": ["T1"]},
            {"id": "T3", "agent": "coder", "prompt": "say=three"},
        ],
    )


def change(space: Workspace, *statements: str) -> None:
    """Another program writes to the deck's file."""
    raw = sqlite3.connect(space.deck / "deck.db", isolation_level=None)
    for statement in statements:
        raw.execute(statement)
    raw.close()


def kinds(space: Workspace) -> list[str]:
    return [event["kind"] for event in space.run("events", "--json", code=0).lines]


@pytest.mark.parametrize("point", ["found", "followed"])
def test_a_supervisor_killed_between_a_finding_and_what_follows_loses_and_repeats_nothing(
    point: str, space: Workspace, server: TrackerServer
) -> None:
    file = followed(space, server)
    killed = space.start("run", file, "--headless", env={VARIABLE: f"{point}:1"})
    space.while_runs(killed, lambda: space.starts() == ["T1"])
    server.close(1)
    assert killed.wait(20) == -signal.SIGKILL
    assert space.at_work() == ["T1"], "its agent outlives the supervisor"
    space.run("run", file, "--headless", "--auto-resume", code=0)
    assert sorted(space.starts()) == ["T1", "T2", "T3"]
    assert [str(space.turn(name).state) for name in ("T1", "T2", "T3")] == [
        "superseded",
        "succeeded",
        "succeeded",
    ]
    told = kinds(space)
    assert (told.count("reconcile.skipped"), told.count("batch.finished")) == (1, 1)
    assert space.status()["batches"][0]["done"] == 3


def test_an_issue_that_was_closed_before_the_start_costs_no_agent(
    space: Workspace, server: TrackerServer
) -> None:
    file = followed(space, server)
    server.close(1)
    space.run("run", file, "--headless", code=0)
    assert sorted(space.starts()) == ["T2", "T3"]
    assert kinds(space).count("reconcile.skipped") == 1
    assert kinds(space).count("turn.claimed") == 2, "it took no slot either"


def test_reconcile_answers_from_another_terminal_once_it_is_done(
    space: Workspace, server: TrackerServer
) -> None:
    file = followed(space, server)
    process = space.start("run", file, "--headless", "--reconcile-interval", "0")
    space.while_runs(process, lambda: space.starts() == ["T1"])
    space.while_runs(process, space.supervised)
    server.close(1)
    answer = space.run("reconcile", "--json", code=0).json
    assert answer["message"] == "looked at 3 tasks: 1 changed"
    assert process.wait(20) == 0
    assert "Nobody dispatches" in space.run("reconcile", code=4).err


def test_each_local_finding_is_followed_and_shown(space: Workspace, terminal: OpenTerminal) -> None:
    file = space.batch(
        reconciliation_interval_seconds=0.5,
        agents={"wide": {"parallelism_limit": 4}},
        tasks=[
            {"id": name, "agent": "wide", "prompt": space.until_told(name)}
            for name in ("DONE", "GONE", "ASKED", "LEFT")
        ],
    )
    shown = terminal("run", file)
    shown.until(lambda _: len(space.starts()) == 4)
    space.run("stop", f"#{space.turn('LEFT').id}", code=0)
    space.run("stop", f"#{space.turn('ASKED').id}", code=0)
    space.run("task", "block", "ASKED", "which port?", code=0)
    shown.press("e", "e")
    shown.until_shown("kind:reconcile")

    change(
        space,
        "UPDATE tasks SET status = 'DONE' WHERE key = 'DONE'",
        "UPDATE blockers SET state = 'resolved'",
        f"UPDATE turns SET state = 7, ended_ms = queued_ms WHERE id = {space.turn('LEFT').id}",
    )
    shown.until_shown("reconcile.skipped", "1 done elsewhere")
    shown.until_shown("everything that blocked it is answered", "it had no turn")
    shown.until(lambda _: space.starts().count("LEFT") == 2)

    attempt = space.turn("GONE").attempt
    assert attempt is not None
    started = json.loads((space.deck / "runs" / attempt / "started.json").read_text())
    os.kill(started["runner"], signal.SIGKILL)
    shown.press(ESCAPE, ESCAPE)
    shown.until_shown("! 1 needs you")
    assert "was lost" in space.run("ask", "list", code=0).out
