"""Every command that changes a deck: through the socket of whoever dispatches, and without one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import pytest

from batchdeck.tui.cli.main import root
from tests.support.invoking import Invoke
from tests.support.workspace import Result, Workspace, until, workspaces

QUESTION = json.dumps({"question": "Which colour?", "choices": ["red", "blue"]})
NEEDS_A_SUPERVISOR = 4
COMMANDS: list[tuple[str, int, int]] = [
    # as it is typed, then its exit code without a supervisor and with one
    ("limit agent:coder=0", 0, 0),
    ("hold agent:coder", 0, 0),
    ("release agent:coder", 0, 0),
    ("send closed hello --on-busy queue", 0, 0),
    ("send closed more --on-busy queue", 0, 0),
    ("queue edit #6 other", 0, 0),
    ("queue move #7 first", 0, 0),
    ("queue hold #6", 0, 0),
    ("queue release #6", 0, 0),
    ("queue merge #6 #7", 0, 0),
    ("queue retarget #7 coder", 0, 0),
    ("queue now #3", NEEDS_A_SUPERVISOR, 3),
    ("queue delete #7", 0, 0),
    ("task add closed more", 0, 0),
    ("task status T5 READY", 0, 0),
    ("task block T5 which?", 0, 0),
    ("task answer T5 this", 0, 0),
    ("task retry T1", 0, 0),
    ("task cancel T3", 0, 0),
    ("ask answer 1 red", 0, 0),
    ("ask revoke 1", 2, 2),
    ("agent add late --command true", 0, 0),
    ("agent edit late --limit 2", 0, 0),
    ("agent remove late", 0, 0),
    ("stop #4", NEEDS_A_SUPERVISOR, 0),
    ("reconcile", NEEDS_A_SUPERVISOR, 0),
    ("drain", NEEDS_A_SUPERVISOR, 0),
]
LOOKING = (
    "demo, init, check, plan, run, resume, status, tasks, turns, agents, batches, events, logs,"
    " why, what-if, export, attach, doctor, queue list, task show, ask list, ask show,"
    " ask allowed"
)
"""Those that look, or open a deck themselves."""
RECORDED = set(
    "limit.changed hold release message.sent queue.edited queue.moved queue.merged"
    " queue.retargeted ask.answered agent.removed".split()
)
NOBODY = "; nobody dispatches this deck now"
VOLATILE = frozenset({"revision", "event", "at_ms", "id", "supervised"})


@pytest.fixture
def decks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, Workspace]]:
    """The same deck twice: nobody dispatches the first one, the second one is at work.

    T1 has failed, T2 asks something, T3 and T4 are queued at a closed agent, T5 is BACKLOG.
    """
    with (
        contextmanager(workspaces)(tmp_path_factory.mktemp("stopped")) as stopped,
        contextmanager(workspaces)(tmp_path_factory.mktemp("dispatched")) as dispatched,
    ):
        _dispatch(stopped).terminate()
        _dispatch(dispatched)
        until(lambda: not stopped.supervised())
        yield stopped, dispatched


def _dispatch(space: Workspace) -> subprocess.Popen[bytes]:
    file = space.batch(
        agents={"coder": {}, "closed": {"parallelism_limit": 0}},
        tasks=[
            {"id": "T1", "agent": "coder", "prompt": "exit=3"},
            {"id": "T2", "agent": "coder", "prompt": f"ask='{QUESTION}'"},
            {"id": "T3", "agent": "closed", "prompt": "exit=0"},
            {"id": "T4", "agent": "closed", "prompt": "exit=0"},
            {"id": "T5", "agent": "closed", "prompt": "exit=0", "status": "BACKLOG"},
        ],
    )
    process = space.start("run", file, "--headless")
    printed = space.folder / "out.txt"
    space.while_runs(process, lambda: "asks: Which" in printed.read_text())
    space.while_runs(process, space.supervised)
    return process


def test_every_command_answers_the_same_with_a_supervisor_and_without(
    decks: tuple[Workspace, Workspace], invoke_in: Callable[[Workspace], Invoke]
) -> None:
    stopped, dispatched = map(invoke_in, decks)
    for command, alone, together in COMMANDS:
        answers = [
            door(*command.split(), "--json", code=code)
            for door, code in ((stopped, alone), (dispatched, together))
        ]
        if alone == together:
            one, other = map(_without_what_differs, answers)
            assert one == other, command
    for door in (stopped, dispatched):
        told = {event["kind"] for event in door("events", "--json").lines}
        assert told >= RECORDED, RECORDED - told


def _without_what_differs(answer: Result) -> list[dict[str, Any]]:
    documents = answer.lines if answer.out else []
    for document in documents:
        if "message" in document:
            document["message"] = document["message"].removesuffix(NOBODY)
    return [{k: v for k, v in document.items() if k not in VOLATILE} for document in documents]


def test_no_command_that_changes_a_deck_is_left_out() -> None:
    tried = {
        " ".join(words[:2]) if words[0] in ("queue", "task", "ask", "agent") else words[0]
        for words in (command.split() for command, _, _ in COMMANDS)
    }
    assert sorted([*tried, *LOOKING.split(", ")]) == sorted(_leaves(root, click.Context(root)))


def _leaves(group: click.Group, context: click.Context, before: str = "") -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _leaves(command, context, f"{before}{name} ")
        else:
            yield f"{before}{name}"
