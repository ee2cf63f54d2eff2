"""A foreach through the installed program: policies, questions, and a kill at any moment."""

from __future__ import annotations

import json
import signal
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.deck.handling.parts import MOST_AT_ONCE
from batchdeck.core.points import OF_A_BARRIER, VARIABLE
from tests.support.workspace import Workspace, until

SAY = {"id": "say", "agent": "coder", "prompt": "{{ item.do }} say={{ index }}", "keep": "said"}
WRITE = {
    "id": "write",
    "agent": "coder",
    "prompt": "say=<{{ said }}>",
    "writes": "out.all",
    "reducer": "append",
}


ONE = {
    "id": "one",
    "agent": "coder",
    "prompt": "{{ item }}",
    "writes": "out",
    "reducer": "append",
}
ASKS_ONCE = """
case "$(cat)" in
*"The answer"*) echo answered;;
*ASK*) echo '{"question": "which?", "choices": ["a", "b"]}' > "$BATCHDECK_ASK";;
*WAIT*) while [ ! -e "$TOLD" ]; do sleep 0.05; done; echo ok;;
*) echo ok;;
esac
"""


def foreach(space: Workspace, *words: str, steps: list[dict[str, Any]] | None = None, **more: Any):
    """A batch whose items' agents do these words first."""
    items = [{"do": word} for word in words]
    block = {"items": items, "steps": steps or [SAY, WRITE], **more.pop("foreach", {})}
    agents = {"coder": {"parallelism_limit": 4}}
    return space.batch(foreach=block, agents=agents, **more)


def finished(lines: list[dict[str, Any]]) -> dict[str, Any]:
    (event,) = (line for line in lines if line["kind"] == "batch.finished")
    return event


@pytest.mark.parametrize(
    ("on_error", "code", "state", "values"),
    [
        ("skip", 5, "completed_with_errors", {"out": {"all": ["<0>", "<2>"]}}),
        ("collect", 5, "completed_with_errors", {"out": {"all": ["<0>", "<2>"]}}),
        ("fail", 1, "failed", {}),
    ],
)
def test_each_policy_ends_as_it_says(
    space: Workspace, on_error: str, code: int, state: str, values: dict[str, Any]
) -> None:
    file = foreach(space, "", "exit=3", "", on_error=on_error, collect_to="errors")
    found = finished(space.run("run", file, "--headless", "--json", code=code).lines)
    errors = found["values"].pop("errors", None)
    assert (found["state"], found["values"]) == (state, values)
    assert [entry["index"] for entry in found["results"]] == [0, 1, 2]
    assert found["results"][1]["status"] == "FAILED"
    if on_error != "collect":
        assert errors is None
        return
    (record,) = errors
    assert (record["index"], record["item"], record["step"]) == (1, {"do": "exit=3"}, "say")
    assert (record["kind"], record["message"]) == ("failed", "exit code 3")


def test_nothing_failed_and_everything_is_in_item_order(space: Workspace) -> None:
    file = foreach(space, "sleep=0.4", "sleep=0.2", "", on_error="collect", collect_to="errors")
    found = finished(space.run("run", file, "--headless", "--json", code=0).lines)
    assert found["state"] == "completed"
    assert found["values"] == {"out": {"all": ["<0>", "<1>", "<2>"]}, "errors": []}
    rows = space.run("export", "--format", "jsonl").lines
    results = [(row["index"], row["item"], row["output"]) for row in rows]
    assert results == [
        (0, '{"do": "sleep=0.4"}', "<0>"),
        (1, '{"do": "sleep=0.2"}', "<1>"),
        (2, '{"do": ""}', "<2>"),
    ]


def test_items_of_one_conversation_run_one_after_another_in_item_order(space: Workspace) -> None:
    shared = {**SAY, "conversation": "{{ 'log' if index < 2 else '' }}"}
    words = (space.until_told("first"), "", space.until_told("other"))
    process = space.start_run(foreach(space, *words, steps=[shared, WRITE]), begun=2)
    assert set(space.starts()) == {"item-0", "item-2"}, "who has its own waits for nobody"
    assert space.shut_gates("item-1") == ["conversation"]
    space.tell("other")
    space.while_runs(process, lambda: "item-2" in {one.task for one in space.intervals()})
    assert "item-1" not in space.starts()
    space.tell("first")
    until(lambda: process.poll() is not None)
    first = {one.task: one for one in reversed(space.intervals())}
    assert first["item-0"].end <= first["item-1"].start
    found = finished(space.run("events", "--json", code=0).lines)
    assert found["values"] == {"out": {"all": ["<0>", "<1>", "<2>"]}}


def test_numbers_of_items_may_be_given_with_the_run_and_are_shown(space: Workspace) -> None:
    file = foreach(space, *([""] * 4), foreach={"max_active": 2, "max_outstanding": 3})
    flags = ("--max-active", "1", "--max-outstanding", "5")
    refused = space.run("run", file, "--headless", "--max-active", "9", code=2)
    assert "9 items at work need at least 9" in refused.err
    assert space.run("plan", file, "--json").json["starts"] == ["item-0", "item-1"]
    assert space.run("check", file, "--json").json["items"] == 4
    space.run("run", file, "--headless", *flags, code=0)
    intervals = sorted(space.intervals(), key=lambda one: one.start)
    assert all(a.end <= b.start for a, b in pairwise(intervals))
    (batch,) = space.run("batches", "--json").json
    assert (batch["max_active"], batch["max_outstanding"], batch["committed"]) == (1, 5, True)
    rows = space.run("export", "--format", "jsonl").lines
    assert [row["index"] for row in rows] == [0, 1, 2, 3]
    tasks = [row["id"] for row in space.run("tasks", "--json").json]
    assert tasks == ["item-0", "item-1", "item-2", "item-3"]


def test_a_foreach_whose_writers_collide_is_refused_before_anything_runs(space: Workspace) -> None:
    step = {key: value for key, value in WRITE.items() if key != "reducer"}
    file = foreach(space, "", "", steps=[SAY, step])
    refused = space.run("run", file, "--headless", code=2)
    assert "'out.all' is written more than once, and needs a reducer" in refused.err
    assert not space.starts()


def test_the_third_item_never_begins_before_the_second_is_answered(space: Workspace) -> None:
    command = [*space.agent("coder")["command"], "--around", "sh", "-c", ASKS_ONCE]
    env = {**space.agent("coder")["env"], "TOLD": str(space.folder / "told-first")}
    file = space.batch(
        agents={"coder": {"parallelism_limit": 4, "command": command, "env": env}},
        foreach={"items": ["WAIT", "ASK", "c"], "steps": [ONE], "max_active": 2},
    )
    process = space.start_run(file, begun=2)
    space.while_runs(process, lambda: space.view().asks)
    space.tell("first")
    space.while_runs(process, lambda: not space.view().live)
    assert space.status()["mode"] == "quiescing"
    assert set(space.starts()) == {"item-0", "item-1"}
    assert space.shut_gates("item-2") == ["hold"]
    space.run("ask", "answer", "1", "c", code=2)
    space.run("ask", "answer", "1", "a", code=0)
    until(lambda: process.poll() is not None)
    assert process.returncode == 0
    assert "item-2" in space.starts()
    found = finished(space.run("events", "--json", code=0).lines)
    assert found["values"] == {"out": ["ok", "answered", "ok"]}


def kill_at(space: Workspace, file: Path, where: str) -> int:
    """Runs until it kills itself there, or to its end; the exit code."""
    process = space.start("run", file, "--headless", "--auto-resume", env={VARIABLE: where})
    until(lambda: process.poll() is not None)
    return int(process.returncode)


def check_after(space: Workspace, file: Path) -> None:
    """Takes the batch up again; everything was committed, once, and nothing was done twice."""
    space.run("run", file, "--headless", "--auto-resume", code=0)
    lines = space.run("events", "--json", code=0).lines
    kinds = [line["kind"] for line in lines]
    assert kinds.count("barrier.committed") == kinds.count("batch.finished") == 1
    assert finished(lines)["values"] == {"out": {"all": ["<0>", "<1>"]}}
    done = [line["task"] for line in lines if line.get("status") == "DONE"]
    assert sorted(done) == ["foreach", "item-0", "item-1"]


@pytest.mark.parametrize("point", OF_A_BARRIER)
def test_killed_at_a_point_of_the_barrier_it_commits_exactly_once(
    space: Workspace, point: str
) -> None:
    file = foreach(space, "", "")
    assert kill_at(space, file, f"{point}:1") == -signal.SIGKILL
    begun = len(space.starts())
    check_after(space, file)
    assert len(space.starts()) == begun == 4


@pytest.mark.crash
@pytest.mark.parametrize("point", ["commit.before", "commit.after"])
def test_killed_at_any_transaction_it_commits_exactly_once(space: Workspace, point: str) -> None:
    for number in count(1):
        folder = space.folder / f"deck-{number}"
        folder.mkdir()
        here = Workspace(folder)
        file = foreach(here, "", "")
        code = kill_at(here, file, f"{point}:{number}")
        check_after(here, file)
        if code != -signal.SIGKILL:
            break
    assert number > 5


@pytest.mark.parametrize("part", [1, 2])
def test_killed_while_it_is_added_a_large_batch_is_added_once(space: Workspace, part: int) -> None:
    items = MOST_AT_ONCE * 2 + 10
    step = {"id": "one", "agent": "d", "prompt": "{{ item }}", "writes": "out", "reducer": "append"}
    block = {"items": list(range(items)), "steps": [step], "max_active": 32, "max_outstanding": 32}
    agent = {"kind": "demo", "script": {"seconds": 0, "lines": 0}, "parallelism_limit": 10}
    file = space.folder / "large.yaml"
    document = {"name": "large", "max_parallel": 32, "agents": {"d": agent}, "foreach": block}
    file.write_text(json.dumps(document))

    assert kill_at(space, file, f"part:{part}") == -signal.SIGKILL
    left = space.run("tasks", "--json", code=0).json
    assert len(left) == part * MOST_AT_ONCE
    space.run("run", file, "--headless", "--auto-resume", code=0)
    lines = space.run("events", "--json", code=0).lines
    assert len(finished(lines)["values"]["out"]) == items
    done = [line["task"] for line in lines if line.get("status") == "DONE"]
    assert len(done) == len(set(done)) == items + 1
