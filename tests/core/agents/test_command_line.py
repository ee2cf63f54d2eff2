"""Placeholders are whole items, and go where there is nothing to put."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.agents.command_line import CannotStart, arguments
from batchdeck.core.model.agent import PromptVia
from tests.core.agents.support import command_agent

FILE = Path("/runs/1/prompt")


@pytest.mark.parametrize(
    ("command", "session", "expected"),
    [
        (("a", "{prompt_file}"), None, ("a", "/runs/1/prompt")),
        (("a", "--from={prompt_file}"), None, ("a", "--from={prompt_file}")),
        (("a", "--resume", "{session}", "b"), "s1", ("a", "--resume", "s1", "b")),
        (("a", "--resume", "{session}", "b"), None, ("a", "b")),
        (("a", "resume", "{session}"), None, ("a", "resume")),
        (("a", "{session}", "-x"), None, ("a", "-x")),
        (("a", "{prompt}"), None, ("a", "{prompt}")),
    ],
)
def test_items_are_filled_in(
    command: tuple[str, ...], session: str | None, expected: tuple[str, ...]
) -> None:
    assert arguments(command_agent(command), "p", FILE, session) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("a", "{prompt}", "b"), ("a", "-p", "b")),
        (("a", "b"), ("a", "b", "-p")),
        (("/opt/bin/claude", "-x"), ("/opt/bin/claude", "-x", "--", "-p")),
    ],
)
def test_a_prompt_as_an_argument_has_its_place_or_goes_last(
    command: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    agent = command_agent(command, prompt_via=PromptVia.ARG)

    assert arguments(agent, "-p", FILE, None) == expected


def test_a_prompt_that_looks_like_a_placeholder_is_not_filled_in() -> None:
    agent = command_agent(("a", "{prompt}"), prompt_via=PromptVia.ARG)

    assert arguments(agent, "{session}", FILE, "s") == ("a", "{session}")


def test_a_nul_cannot_be_an_argument() -> None:
    agent = command_agent(("a",), prompt_via=PromptVia.ARG)

    with pytest.raises(CannotStart, match="NUL"):
        arguments(agent, "a\0b", FILE, None)
