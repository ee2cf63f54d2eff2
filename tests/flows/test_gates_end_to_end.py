"""Each gate through every door an operator has, judged by what the agents themselves wrote."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import OpenTerminal
from tests.support.terminal import ENTER, SHIFT_TAB, Terminal
from tests.support.workspace import Workspace, peak, remains, until

TASKS = 6


class Limited:
    """A batch in which one gate is the narrow one, and the doors through which it is moved."""

    def __init__(self, gate: str) -> None:
        self.gate = gate

    def document(self, narrow: int | None) -> dict[str, Any]:
        """The batch; `narrow`: what its file says of this gate."""
        agents: dict[str, Any] = {"wide": {"parallelism_limit": 8}}
        given: dict[str, Any] = {"max_parallel": 8}
        if self.gate == "agent":
            agents = {"wide": {"parallelism_limit": 8 if narrow is None else narrow}}
        elif narrow is not None and self.gate == "status":
            given["max_parallel_by_status"] = {"READY": narrow}
        elif narrow is not None:
            given["max_parallel"] = narrow
        return {"agents": agents, **given}

    def flags(self, number: int) -> list[str]:
        """The flags that set it on the command line."""
        return {
            "agent": ["--agent-limit", f"wide={number}"],
            "status": ["--max-parallel-by-status", f"READY={number}"],
            "batch": ["--max-parallel", str(number)],
        }[self.gate]

    @property
    def name(self) -> str:
        """As `limit` knows it."""
        return {"agent": "agent:wide", "status": "status:READY", "batch": "batch:docs"}.get(
            self.gate, "global"
        )

    @property
    def keys(self) -> list[str]:
        """The way from the table of turns to where its `+` and `-` are."""
        return {"agent": [SHIFT_TAB], "status": [SHIFT_TAB] * 2, "global": [SHIFT_TAB] * 3}[
            self.gate
        ]


def batch(space: Workspace, gate: Limited, narrow: int | None) -> Path:
    """Six tasks, each of which works until it is told."""
    return space.batch(tasks=waiting_tasks(space), **gate.document(narrow))


def waiting_tasks(space: Workspace) -> list[dict[str, Any]]:
    return [
        {"id": f"T{n}", "agent": "wide", "prompt": space.until_told(f"T{n}")}
        for n in range(1, TASKS + 1)
    ]


def settles_at(space: Workspace, number: int, wait: Callable[..., None] = until) -> None:
    """So many agents are at work, and it stays so."""
    wait(lambda: len(space.at_work()) >= number)
    assert remains(lambda: len(space.at_work()) == number), space.at_work()


def finish(space: Workspace, process: subprocess.Popen[bytes], most: int) -> None:
    """Lets all go on: they all run once, never more than `most` at once."""
    for number in range(1, TASKS + 1):
        space.tell(f"T{number}")
    assert process.wait(30) == 0
    assert len(space.intervals()) == TASKS
    assert peak(space.intervals()) <= most


GATES = ["agent", "status", "batch", "global"]


@pytest.mark.parametrize("gate", ["agent", "status", "batch"])
def test_the_batch_file_sets_the_limit(gate: str, space: Workspace) -> None:
    process = space.start_run(batch(space, Limited(gate), 2), begun=2)
    settles_at(space, 2)
    finish(space, process, 2)


def test_the_decks_configuration_sets_the_limit(space: Workspace) -> None:
    space.deck.mkdir(mode=0o700)
    config = {"batch": {"max_parallel": 8, "max_parallel_by_status": {"READY": 2}}}
    (space.deck / "config.yaml").write_text(json.dumps(config))
    agents = {"wide": {"parallelism_limit": 8}}
    process = space.start_run(space.batch(tasks=waiting_tasks(space), agents=agents), begun=2)
    settles_at(space, 2)
    finish(space, process, 2)


@pytest.mark.parametrize("gate", ["agent", "status", "batch"])
def test_a_flag_sets_the_limit_and_beats_the_file(gate: str, space: Workspace) -> None:
    limited = Limited(gate)
    file = batch(space, limited, 5)
    process = space.start_run(file, *limited.flags(2), begun=2)
    settles_at(space, 2)
    finish(space, process, 2)


@pytest.mark.parametrize("gate", GATES)
def test_the_socket_moves_the_limit_up_at_once_and_down_without_stopping_anything(
    gate: str, space: Workspace
) -> None:
    limited = Limited(gate)
    if gate == "global":
        space.run("limit", "global=2", code=0)
    process = space.start_run(batch(space, limited, None if gate == "global" else 2), begun=2)
    settles_at(space, 2)
    space.run("limit", f"{limited.name}=4", code=0)
    settles_at(space, 4)
    space.run("limit", f"{limited.name}=1", code=0)
    assert len(space.at_work()) == 4, "lowering stops nothing"
    for number in (1, 2, 3):
        space.tell(f"T{number}")
    until(lambda: len(space.at_work()) == 1)
    assert remains(lambda: len(space.starts()) == 4), "nothing starts until it is below"
    space.tell("T4")
    until(lambda: len(space.starts()) == 5)
    assert remains(lambda: len(space.at_work()) == 1)
    events = space.run("events", "--json", code=0).lines
    changes = [(e["before"], e["after"]) for e in events if e["kind"] == "limit.changed"]
    assert changes[-2:] == [(2, 4), (4, 1)]
    finish(space, process, 4)


@pytest.mark.parametrize("gate", ["agent", "status", "global"])
def test_a_key_moves_the_limit(gate: str, space: Workspace, terminal: OpenTerminal) -> None:
    limited = Limited(gate)
    if gate == "global":
        space.run("limit", "global=2", code=0)
    shown: Terminal = terminal("run", batch(space, limited, None if gate == "global" else 2))

    def wait(condition: Callable[[], object]) -> None:
        shown.until(lambda _: condition())

    shown.until_shown("wide", "READY")
    settles_at(space, 2, wait)
    shown.move(*limited.keys)
    shown.press("+")
    shown.until_shown("starts now:   #3 T3")
    assert len(space.at_work()) == 2, "looking changes nothing"
    shown.press(ENTER)
    settles_at(space, 3, wait)
    assert space.starts()[2] == "T3", "what was shown is what starts"
    shown.press("-")
    shown.until_shown("3 → 2")
    shown.press(ENTER)
    shown.until_shown("3/2")
    for number in (1, 2):
        space.tell(f"T{number}")
    wait(lambda: len(space.starts()) == 4)
    assert remains(lambda: shown.read() and len(space.at_work()) == 2)


@pytest.mark.parametrize("gate", ["status", "global"])
def test_a_limit_of_zero_closes_and_starts_again_where_it_stood(
    gate: str, space: Workspace
) -> None:
    limited = Limited(gate)
    process = space.start_run(batch(space, limited, 2), begun=2)
    space.run("limit", f"{limited.name}=0", code=0)
    space.tell("T1")
    until(lambda: space.at_work() == ["T2"])
    assert remains(lambda: len(space.starts()) == 2, 0.2)
    assert space.shut_gates("T3") == [gate]
    space.run("limit", f"{limited.name}=2", code=0)
    until(lambda: space.starts()[2:] == ["T3"])
    finish(space, process, 2)


# -- the other gates, each by its natural door


def run(space: Workspace, *tasks: dict[str, Any], **given: Any) -> subprocess.Popen[bytes]:
    """Starts a run of tasks of `wide`, unless they name another agent."""
    given.setdefault("agents", {"wide": {"parallelism_limit": 8}})
    given.setdefault("max_parallel", 8)
    return space.start_run(space.batch(tasks=[{"agent": "wide", **t} for t in tasks], **given))


def task(space: Workspace, key: str, **fields: Any) -> dict[str, Any]:
    return {"id": key, "prompt": space.until_told(key), **fields}


def waits_for(space: Workspace, name: str, gate: str) -> None:
    """A task has not begun, does not begin, and says why."""
    assert space.shut_gates(name) == [gate]
    assert remains(lambda: name not in space.starts(), 0.2)


@pytest.mark.parametrize("what", ["deck", "#2"])
def test_what_is_held_does_not_start_until_it_is_released(what: str, space: Workspace) -> None:
    process = run(space, task(space, "T1"), task(space, "T2", depends_on=["T1"]))
    space.run("hold", what, code=0)
    space.tell("T1")
    until(lambda: space.shut_gates("T2") == ["hold"])
    waits_for(space, "T2", "hold")
    space.run("release", what, code=0)
    until(lambda: "T2" in space.starts())
    space.tell("T2")
    assert process.wait(20) == 0


def test_a_dependency_must_be_done_first(space: Workspace) -> None:
    process = run(space, task(space, "T1"), task(space, "T2", depends_on=["T1"]))
    waits_for(space, "T2", "depends_on")
    space.tell("T1")
    until(lambda: "T2" in space.starts())
    space.tell("T2")
    assert process.wait(20) == 0


def test_turns_of_a_target_run_in_the_order_of_receipt(space: Workspace) -> None:
    process = run(
        space,
        task(space, "T1", target="issue-1"),
        task(space, "T2", target="issue-1", priority=50),
        task(space, "T3", target="issue-2"),
    )
    until(lambda: sorted(space.at_work()) == ["T1", "T3"])
    waits_for(space, "T2", "target")
    for key in ("T1", "T2", "T3"):
        space.tell(key)
    assert process.wait(20) == 0
    first, second = (next(i for i in space.intervals() if i.task == key) for key in ("T1", "T2"))
    assert first.end <= second.start


def test_a_folder_is_used_by_one_at_a_time_with_its_parents_and_children(
    space: Workspace,
) -> None:
    for name in ("docs/api", "docs2"):
        (space.folder / name).mkdir(parents=True)
    process = run(
        space,
        task(space, "T1", folder="docs"),
        task(space, "T2", folder="docs/api"),
        task(space, "T3", folder="docs2"),
    )
    until(lambda: sorted(space.at_work()) == ["T1", "T3"])
    waits_for(space, "T2", "folder")
    for key in ("T1", "T2", "T3"):
        space.tell(key)
    assert process.wait(20) == 0
    cwd = {i.task: i.cwd for i in space.intervals()}
    assert cwd["T2"] == str(space.folder / "docs/api")


def test_a_conversation_has_one_turn_at_a_time(space: Workspace) -> None:
    process = run(space, task(space, "T1"))
    space.run("send", "T1", "say=hello", "--on-busy", "queue", code=0)
    waits_for(space, "#2", "conversation")
    space.tell("T1")
    assert process.wait(20) == 0
    assert space.starts() == ["T1", "T1"]
    assert peak(space.intervals()) == 1


def test_a_retry_waits_for_its_time(space: Workspace) -> None:
    process = run(space, {"id": "T1", "prompt": "exit=3"}, task(space, "T2"), max_attempts=2)
    until(lambda: "not_before" in space.shut_gates("T1"))
    assert space.starts().count("T1") == 1
    space.tell("T2")
    assert process.wait(20) == 5
    first, again = [i for i in space.intervals() if i.task == "T1"]
    assert again.start - first.end > 1.3, "two seconds, jittered by a quarter"


def test_as_many_questions_as_the_operator_allows_stop_new_work(space: Workspace) -> None:
    question = json.dumps({"question": "Which?"})
    space.run("limit", "attention=1", code=0)
    process = run(
        space,
        {"id": "T1", "prompt": f"ask='{question}'"},
        {**task(space, "T2"), "agent": "solo"},
        {**task(space, "T3"), "agent": "solo"},
        agents={"wide": {}, "solo": {}},
    )
    until(lambda: space.status()["waiting"] == 1 and "T2" in space.starts())
    space.tell("T2")
    until(lambda: not space.at_work() and space.shut_gates("T3") == ["attention"])
    waits_for(space, "T3", "attention")
    space.run("limit", "attention=2", code=0)
    until(lambda: "T3" in space.starts())
    process.terminate()


def test_a_batch_taken_up_again_has_the_limits_it_had(space: Workspace) -> None:
    file = batch(space, Limited("status"), 2)
    process = space.start_run(file, begun=2)
    space.run("limit", "status:READY=3", code=0)
    until(lambda: len(space.starts()) == 3)
    process.terminate()
    process.wait(10)
    assert space.status()["by_status"]["READY"]["limit"] == 3
    again = space.start("run", file, "--headless")
    until(space.supervised)
    settles_at(space, 3)
    finish(space, again, 3)
