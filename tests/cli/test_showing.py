"""What is shown of a deck at work: the JSON documents, name for name, and lines for people."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.invoking import Invoke
from tests.support.workspace import COMMAND, Workspace, until

GATE = {"gate", "open", "subject", "used", "limit", "holders", "frees", "passable", "place"}
STATUS_ROW = {"running", "queued", "limit", "tasks"}


def test_status_tells_the_deck_its_statuses_agents_and_batches(
    dispatched: Workspace, invoke: Invoke
) -> None:
    document = invoke("status", "--json", code=0).json
    assert document["deck"] == str(dispatched.deck)
    assert document["mode"] == "running"
    assert document["fault"] is None
    counts = {key: document[key] for key in ("running", "queued", "waiting", "limit", "forced")}
    assert counts == {"running": 1, "queued": 4, "waiting": 0, "limit": 4, "forced": 0}
    assert document["by_status"]["READY"] == {"running": 1, "queued": 3, "limit": 3, "tasks": 3}
    assert document["by_status"]["IN_PROGRESS"]["tasks"] == 1
    assert document["by_agent"]["wide"] == {
        "running": 1,
        "queued": 2,
        "limit": 1,
        "kind": "command",
        "serial": False,
    }
    assert document["by_agent"]["idle"]["serial"] is True
    (batch,) = document["batches"]
    assert {key: batch[key] for key in ("name", "state", "done", "failed", "total")} == {
        "name": "docs",
        "state": "running",
        "done": 0,
        "failed": 0,
        "total": 5,
    }
    assert set(batch["by_status"]["READY"]) == STATUS_ROW
    assert document["revision"] > 0


def test_a_status_without_a_limit_says_null_and_never_zero(
    dispatched: Workspace, invoke: Invoke
) -> None:
    assert invoke("status", "--json", code=0).json["by_status"]["IN_PROGRESS"]["limit"] is None


def test_tasks_are_listed_in_batch_order(dispatched: Workspace, invoke: Invoke) -> None:
    rows = invoke("tasks", "--json", code=0).json
    assert [row["id"] for row in rows] == ["W1", "W2", "W3", "D1", "H1"]
    assert rows[1] == {
        "id": "W2",
        "title": "The second 漢字",
        "status": "READY",
        "agent": "wide",
        "batch": "docs",
        "turn": "2",
        "state": "queued",
        "attempts": 0,
        "error": None,
        "conversation": None,
        "tokens": None,
        "tokens_unknown": 0,
        "money": None,
        "money_unknown": 0,
    }
    assert (rows[0]["state"], rows[0]["attempts"]) == ("running", 1)


def test_tasks_can_be_narrowed_to_a_status(dispatched: Workspace, invoke: Invoke) -> None:
    rows = invoke("tasks", "--status", "backlog", "--json", code=0).json
    assert [row["id"] for row in rows] == ["H1"]


def test_turns_agents_and_batches_are_lists_of_flat_objects(
    dispatched: Workspace, invoke: Invoke
) -> None:
    for command, key, names in (
        ("turns", "task", ["W1", "W2", "W3", "D1", "H1"]),
        ("agents", "name", ["idle", "wide"]),
        ("batches", "name", ["docs"]),
    ):
        rows = invoke(command, "--json", code=0).json
        assert [row[key] for row in rows] == names
        assert not any(isinstance(value, dict) for row in rows for value in row.values())


def test_times_are_milliseconds_and_ids_are_strings(dispatched: Workspace, invoke: Invoke) -> None:
    running = invoke("turns", "--json", code=0).json[0]
    assert running["turn"] == "1"
    assert running["conversation"] == "c1"
    assert running["started_ms"] >= running["queued_ms"] > 1_600_000_000_000
    assert running["ended_ms"] is None
    assert running["exit_code"] is None


def test_why_tells_every_gate_with_its_holders(dispatched: Workspace, invoke: Invoke) -> None:
    document = invoke("why", "W2", "--json", code=0).json
    assert (document["turn"], document["task"], document["state"]) == ("2", "W2", "queued")
    assert document["position"] == 1
    gates = {gate["gate"]: gate for gate in document["gates"]}
    assert list(gates) == ["hold", "agent", "status", "batch", "global"]
    assert all(set(gate) == GATE for gate in gates.values())
    assert gates["agent"]["open"] is False
    assert (gates["agent"]["used"], gates["agent"]["limit"]) == (1, 1)
    (holder,) = gates["agent"]["holders"]
    assert (holder["turn"], holder["task"]) == ("1", "W1")
    assert holder["since_ms"] > 0
    assert gates["agent"]["frees"] == "when #1 ends"
    assert gates["global"]["open"] is True


def test_why_knows_a_turn_by_its_number_and_a_task_by_its_batch(
    dispatched: Workspace, invoke: Invoke
) -> None:
    by_key = invoke("why", "W3", "--json", code=0).json
    for name in ("#3", "3", "docs/W3"):
        assert invoke("why", name, "--json", code=0).json == by_key


def test_why_of_something_that_does_not_wait_is_a_note_without_gates(
    dispatched: Workspace, invoke: Invoke
) -> None:
    document = invoke("why", "W1", "--json", code=0).json
    assert document["gates"] == []
    assert document["state"] == "running"
    assert document["note"]


@pytest.mark.parametrize(
    ("task", "gate", "words"), [("D1", "depends_on", "W1"), ("H1", "depends_on", "BACKLOG")]
)
def test_why_names_what_a_task_needs(
    task: str, gate: str, words: str, dispatched: Workspace, invoke: Invoke
) -> None:
    gates = invoke("why", task, "--json", code=0).json["gates"]
    (shut,) = [found for found in gates if not found["open"]]
    assert (shut["gate"], shut["subject"]) == (gate, words)
    line = invoke("why", task, code=0).out
    assert f"✗ {gate}" in line


def test_what_if_tells_what_would_start_and_changes_nothing(
    dispatched: Workspace, invoke: Invoke
) -> None:
    before = dispatched.view().limits, dispatched.starts()
    document = invoke("what-if", "agent:wide=2", "--json", code=0).json
    assert document["starts"] == ["2"]
    waits = {waiter["turn"]: waiter["gates"] for waiter in document["waits"]}
    assert set(waits) == {"3", "4", "5"}
    assert [gate["gate"] for gate in waits["3"]] == ["agent"]
    assert (dispatched.view().limits, dispatched.starts()) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("agent:wide=11", "over the cap"),
        ("agent:idle=2", "one turn at a time"),
        ("agent:wide=-1", "whole number"),
        ("wide=2", "is not a limit"),
        ("agent:wide", "Expected NAME=N"),
    ],
)
def test_what_if_refuses_what_limit_would_refuse(
    change: str, words: str, dispatched: Workspace, invoke: Invoke
) -> None:
    for command in ("what-if", "limit"):
        refused = invoke(command, change, code=2)
        assert words in refused.err


def test_events_are_json_lines_in_order_with_their_own_fields(
    dispatched: Workspace, invoke: Invoke
) -> None:
    events = invoke("events", "--json", code=0).lines
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert all({"seq", "at_ms", "kind"} <= set(event) for event in events)
    kinds = [event["kind"] for event in events]
    assert kinds.count("turn.queued") == 5
    claimed = next(event for event in events if event["kind"] == "turn.claimed")
    assert (claimed["turn"], claimed["task"], claimed["agent"]) == ("1", "W1", "wide")


def test_only_the_latest_events_are_shown_when_asked_so(
    dispatched: Workspace, invoke: Invoke
) -> None:
    whole = invoke("events", "--json", code=0).lines
    assert invoke("events", "-n", "2", "--json", code=0).lines == whole[-2:]


def test_following_events_tells_what_happens_next(dispatched: Workspace) -> None:
    with subprocess.Popen(
        [str(COMMAND), "events", "-f", "-n", "1", "--json"],
        cwd=dispatched.folder,
        env=dispatched.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        following.stdout.readline()
        dispatched.run("limit", "batch:docs=3", code=0)
        assert any('"limit.changed"' in line for line in following.stdout)
        following.terminate()


def test_logs_print_what_an_agent_has_said(dispatched: Workspace, invoke: Invoke) -> None:
    until(lambda: invoke("logs", "W1").out == "hello\n")
    assert invoke("logs", "#1", code=0).out == "hello\n"


def test_logs_of_a_task_that_has_not_begun_are_empty(dispatched: Workspace, invoke: Invoke) -> None:
    assert invoke("logs", "W2", code=0).out == ""


@pytest.mark.parametrize("command", ["why", "logs"])
@pytest.mark.parametrize("name", ["W9", "#99", "docs/W9", "x/W1"])
def test_an_unknown_name_is_exit_2_in_one_line(
    command: str, name: str, dispatched: Workspace, invoke: Invoke
) -> None:
    refused = invoke(command, name, code=2)
    assert len(refused.err.splitlines()) == 1


def test_showing_works_in_a_plain_locale_without_a_terminal(dispatched: Workspace) -> None:
    plain = {"LANG": "C", "LC_ALL": "C", "TERM": "dumb", "PYTHONUTF8": "0"}
    for command in (["status"], ["turns", "--json"], ["why", "W2"]):
        dispatched.run(*command, code=0, env=plain)


def test_an_export_is_utf_8_whatever_the_locale_is(dispatched: Workspace) -> None:
    latin = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    titled = dispatched.run("export", "--format", "csv", code=0, env=latin).out
    assert "漢字" in titled


def test_a_reader_that_has_seen_enough_is_no_failure(dispatched: Workspace) -> None:
    shell = shutil.which("sh") or "/bin/sh"
    done = subprocess.run(
        [shell, "-c", f"{COMMAND} events --json; echo code $? >&2 | true"],
        cwd=dispatched.folder,
        env=dispatched.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in done.stderr


def test_the_deck_is_found_from_a_folder_within_and_by_name(
    dispatched: Workspace, invoke: Invoke
) -> None:
    within = dispatched.folder / "a" / "b"
    within.mkdir(parents=True, exist_ok=True)
    deck = str(dispatched.deck)
    for arguments, given in (
        (["status", "--json"], {"cwd": within}),
        (["--deck", deck, "status", "--json"], {"cwd": Path("/")}),
        (["status", "--json", "--deck", deck], {"cwd": Path("/")}),
        (["status", "--json"], {"cwd": Path("/"), "env": {"BATCHDECK_DECK": deck}}),
        (
            ["status", "--json", "--deck", deck],
            {"cwd": Path("/"), "env": {"BATCHDECK_DECK": "/no"}},
        ),
    ):
        assert invoke(*arguments, code=0, **given).json["deck"] == deck


def test_an_unreadable_deck_is_told_in_one_line(space: Workspace, invoke: Invoke) -> None:
    invoke("limit", "global=2", code=0)
    (space.deck / "deck.db").write_bytes(b"this is no database, but long enough to look like one")
    for command in (["status"], ["limit", "global=3"]):
        refused = invoke(*command)
        assert refused.code in (1, 2)
        assert len(refused.err.splitlines()) == 1


def test_no_deck_is_told_with_how_to_make_one(space: Workspace, invoke: Invoke) -> None:
    refused = invoke("status", code=2)
    assert "no deck" in refused.err
    assert "batchdeck run" in refused.err
    assert not space.deck.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_deck_of_somebody_else_is_not_used(space: Workspace) -> None:
    space.deck.mkdir(mode=0o700)
    os.chown(space.deck, 12345, 12345)
    refused = space.run("limit", "global=2", code=2)
    assert "belongs to somebody else" in refused.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("batchdeck wh", {"why", "what-if"}),
        ("batchdeck why W", {"W1", "W2", "W3"}),
        ("batchdeck why D", {"D1"}),
        ("batchdeck limit agent:", {"agent:wide=", "agent:idle="}),
        ("batchdeck hold agent", {"agent:wide", "agent:idle"}),
        ("batchdeck tasks --status re", {"READY"}),
    ],
)
def test_the_shell_completes_what_is_on_the_deck_now(
    words: str, expected: set[str], dispatched: Workspace
) -> None:
    told = dispatched.run(
        env={
            "_BATCHDECK_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
    )
    assert {line.partition(",")[2] for line in told.out.splitlines()} == expected


LOOKS = [
    *("status", "tasks", "turns", "agents", "batches", "why", "what-if", "queue list", "task show"),
    *("ask list", "ask show", "ask allowed"),
]


@pytest.mark.parametrize("command", LOOKS)
def test_whatever_shows_the_deck_has_json_and_can_be_watched(
    command: str, dispatched: Workspace, invoke: Invoke
) -> None:
    told = invoke(*command.split(), "--help", code=0).out
    assert "--json" in told
    assert "--watch" in told


@pytest.mark.parametrize(
    "command",
    [
        *("status", "tasks", "turns", "agents", "batches"),
        *("queue list", "what-if agent:wide=2"),
    ],
)
def test_watching_prints_again_what_has_changed_and_nothing_else(
    command: str, dispatched: Workspace
) -> None:
    with subprocess.Popen(
        [str(COMMAND), *command.split(), "--watch", "--json"],
        cwd=dispatched.folder,
        env=dispatched.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        dispatched.run("task", "add", "wide", f"one more for {command}", code=0)
        newer = next(new for line in watching.stdout if (new := json.loads(line)) != first)
        watching.kill()
    if command.startswith("what-if"):
        assert newer["starts"] == first["starts"] == ["2"]


def test_a_reader_that_has_seen_enough_is_no_fault(dispatched: Workspace) -> None:
    with subprocess.Popen(
        [str(COMMAND), "events", "-f"],
        cwd=dispatched.folder,
        env=dispatched.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        following.stdout.readline()
        following.stdout.close()
        dispatched.run("task", "add", "wide", "one more", code=0)
        assert following.wait(20) == 0
        assert following.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tasks", "--status", "RAEDY"), "'RAEDY' is not a status; did you mean READY?"),
        (("tasks", "--batch", "dosc"), "There is no batch 'dosc'; did you mean docs?"),
        (("queue", "list", "--agent", "wdie"), "There is no agent 'wdie'; did you mean wide?"),
        (("limit", "agent:wdie=2"), "'agent:wdie' is not a limit; did you mean agent:wide?"),
        (("limit", "wide=3"), "'wide' is not a limit; did you mean agent:wide?"),
        (("limit", "ready=3"), "'ready' is not a limit; did you mean status:READY?"),
        (("what-if", "globl=3"), "'globl' is not a limit; did you mean global?"),
        (("send", "wdie", "hello"), "did you mean wide?"),
    ],
)
def test_a_name_that_is_unknown_is_refused_with_the_nearest_one(
    arguments: tuple[str, ...], words: str, dispatched: Workspace, invoke: Invoke
) -> None:
    refused = invoke(*arguments, code=2)
    assert words in refused.err
    assert refused.out == ""


def test_the_project_stands_for_the_deck_in_it(dispatched: Workspace, invoke: Invoke) -> None:
    shown = invoke("status", "--json", "--deck", dispatched.folder, code=0).json
    assert shown["deck"] == str(dispatched.deck)
    assert not (dispatched.folder / "deck.db").exists()


def test_a_turn_that_is_none_says_so(dispatched: Workspace, invoke: Invoke) -> None:
    assert "There is no turn #999, or it ended long ago." in invoke("stop", "999", code=2).err


def test_a_bare_number_is_a_task_before_it_is_a_turn_for_every_command(
    dispatched: Workspace, invoke: Invoke
) -> None:
    added = invoke("task", "add", "wide", "x", "--id", "2", "--json", code=0).json
    assert invoke("why", "2", "--json", code=0).json["turn"] == added["turn"] != "2"
    assert invoke("stop", "2", "--json", code=0).json["turn"] == added["turn"]
    assert invoke("why", "3", "--json", code=0).json["task"] == "W3"


def test_stop_takes_a_tasks_name(dispatched: Workspace, invoke: Invoke) -> None:
    assert "cancelled" in invoke("stop", "W3", code=0).out
    again = invoke("stop", "docs/W3", code=3).err
    assert "has ended already: cancelled" in again
