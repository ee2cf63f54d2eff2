"""Every command that changes a deck: through the socket of whoever dispatches, and without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from batchdeck.tui.cli.main import root
from tests.cli.conftest import copies
from tests.support.invoking import Invoke
from tests.support.workspace import Result, Workspace

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
def decks(
    stopped: Workspace, made: Workspace, tmp_path: Path
) -> Iterator[tuple[Workspace, Workspace]]:
    """The same deck twice: nobody dispatches the first one, the second one is at work."""
    for dispatched in copies(made, tmp_path):
        process = dispatched.start("resume", "--headless")
        dispatched.while_runs(process, dispatched.supervised)
        yield stopped, dispatched


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
