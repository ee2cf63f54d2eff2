"""What `--json` prints is what the schema in the repository says, with and without a supervisor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.invoking import Invoke
from tests.support.workspace import Workspace, until, workspaces

SCHEMA = json.loads((files("batchdeck.tui.cli") / "json-schema.json").read_text())


def check(name: str, document: Any) -> None:
    """Raises where a document is not as its definition says."""
    validator(name).validate(document)


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    for space in workspaces(tmp_path_factory.mktemp("schema")):
        file = space.batch(
            max_parallel=4,
            max_parallel_by_status={"READY": 3},
            agents={"wide": {"parallelism_limit": 1}, "idle": {"serial": True}},
            tasks=[
                {"id": "W1", "agent": "wide", "prompt": f"say=hello {space.until_told('W1')}"},
                {"id": "W2", "agent": "wide", "prompt": "say=two", "target": "issue-1"},
                {"id": "W3", "agent": "wide", "prompt": "exit=3"},
                {"id": "D1", "agent": "idle", "prompt": "x", "depends_on": ["W1"], "folder": "."},
                {"id": "H1", "agent": "idle", "prompt": "y", "status": "BACKLOG"},
            ],
        )
        space.start_run(file, "--headless")
        until(space.supervised)
        yield space


SHOWING = ["status", "tasks", "turns", "agents", "batches"]
CHANGING = [
    ("receipt", "send wide hello --on-busy queue"),
    ("error", "send wide hello"),
    ("limit", "limit global=3"),
    ("limit", "limit global=4 agent:idle=1"),
    ("error", "limit nonsense=3"),
    ("receipt", "hold agent:idle"),
    ("receipt", "release agent:idle"),
    ("receipt", "queue hold #3"),
    ("receipt", "queue release #3"),
    ("receipt", "queue edit #3 other"),
    ("receipt", "queue move #3 last"),
    ("receipt", "task add wide more"),
    ("receipt", "task block W3 which?"),
    ("receipt", "task answer W3 this"),
    ("error", "task retry W1"),
    ("receipt", "agent add late --command true"),
    ("receipt", "agent edit late --limit 2"),
    ("receipt", "agent remove late"),
]
LOOKING = [
    ("why", "why W1"),
    ("why", "why W2"),
    ("what-if", "what-if agent:wide=2"),
    ("queue list", "queue list"),
    ("task show", "task show W1"),
    ("ask list", "ask list"),
    ("check", "check batch.yaml"),
    ("plan", "plan batch.yaml"),
    ("doctor", "doctor"),
]


@pytest.mark.parametrize("command", SHOWING)
def test_what_is_shown_is_as_the_schema_says(command: str, invoke: Invoke) -> None:
    check(command, invoke(command, "--json").json)


@pytest.mark.parametrize(("name", "command"), LOOKING)
def test_every_look_is_as_the_schema_says(name: str, command: str, invoke: Invoke) -> None:
    check(name, invoke(*command.split(), "--json").json)


def test_every_answer_is_as_the_schema_says(invoke: Invoke) -> None:
    for name, command in CHANGING:  # in their order: some need what those before have made
        check(name, invoke(*command.split(), "--json").json)


def test_a_faulty_file_is_told_as_the_schema_says(space: Workspace, invoke: Invoke) -> None:
    (space.folder / "bad.yaml").write_text("name: x\ntasks: [{id: 1}]\n")
    check("check", invoke("check", "bad.yaml", "--json", code=2).json)


def test_events_and_results_are_as_the_schema_says_line_by_line(tmp_path: Path) -> None:
    for space in workspaces(tmp_path):
        tasks = [
            {"id": "T1", "agent": "coder", "prompt": "say=done"},
            {"id": "T2", "agent": "coder", "prompt": "exit=3"},
        ]
        told = space.run("run", space.batch(tasks=tasks), "--headless", "--json", code=5)
        for line in [*told.lines, *space.run("events", "--json").lines]:
            check("event", line)
        for line in space.run("export", "--format", "jsonl").lines:
            check("export", line)
        for command in SHOWING:
            check(command, space.run(command, "--json").json)


def test_a_field_that_is_missing_or_of_another_kind_is_noticed(invoke: Invoke) -> None:
    document = invoke("status", "--json").json
    with pytest.raises(jsonschema.ValidationError):
        check("status", {**document, "running": "1"})
    del document["by_agent"]
    with pytest.raises(jsonschema.ValidationError):
        check("status", document)
