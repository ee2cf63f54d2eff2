"""The command of an agent, made ready for one attempt."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from batchdeck.core.model.agent import Agent, PromptVia

ARGUMENT_LIMIT = 128 * 1024
"""Bytes that the system takes in one argument."""

_KNOWS_DASHES = frozenset({"claude", "codex", "gemini", "opencode", "llm"})
"""Programs for which `--` ends the options."""


class CannotStart(Exception):
    """The agent cannot be started; `surroundings` as in `Outcome`."""

    def __init__(self, words: str, surroundings: str | None = None) -> None:
        super().__init__(words)
        self.words = words
        self.surroundings = surroundings


def arguments(agent: Agent, prompt: str, prompt_file: Path, session: str | None) -> tuple[str, ...]:
    """The command with its placeholders filled in; a placeholder is a whole item.

    Where there is no session, an item `{session}` goes, and the option right before it with it.

    Raises:
        CannotStart: the prompt is to be an argument and cannot be one.
    """
    items = tuple(_without_session(agent.command)) if session is None else agent.command
    values = {"{prompt_file}": str(prompt_file), "{session}": session or ""}
    if agent.prompt_via is PromptVia.ARG:
        values["{prompt}"] = _as_argument(prompt)
        if "{prompt}" not in items:
            dashes = ("--",) if os.path.basename(items[0]) in _KNOWS_DASHES else ()
            items = (*items, *dashes, "{prompt}")
    return tuple(values.get(item, item) for item in items)


def _without_session(items: tuple[str, ...]) -> Iterator[str]:
    for item, following in zip(items, (*items[1:], ""), strict=True):
        belongs_to_it = following == "{session}" and item.startswith("-")
        if item != "{session}" and not belongs_to_it:
            yield item


def _as_argument(prompt: str) -> str:
    size = len(os.fsencode(prompt))
    if size >= ARGUMENT_LIMIT:
        raise CannotStart(
            f"the prompt has {size:,} bytes and an argument may have {ARGUMENT_LIMIT:,}:"
            " use prompt_via: stdin or file"
        )
    if "\0" in prompt:
        raise CannotStart("the prompt holds a NUL: use prompt_via: stdin or file")
    return prompt


def locate(program: str, environment: Mapping[str, str]) -> str:
    """The absolute path of an agent's program, by the agent's own PATH and never by its folder.

    Raises:
        CannotStart: there is none, or it is not a program.
    """
    if "/" in program:
        return program if os.path.isabs(program) else _missing(program)
    unusable = None
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, program)
        if not os.path.isabs(folder) or not os.path.isfile(path):
            continue
        if os.access(path, os.X_OK):
            return path
        unusable = path
    if unusable:
        raise CannotStart(f"{unusable} may not be executed", "agent")
    return _missing(program)


def _missing(program: str) -> str:
    raise CannotStart(f"the command {program!r} was not found on the agent's PATH", "agent")
