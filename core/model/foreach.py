"""A foreach: the steps that every item goes through, and what each step's answer becomes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from batchdeck.core.text import clean_line, clean_text

BARRIER_KEY = "foreach"
"""As a dependency, and as the key of the task that stands for the barrier."""

SHOWN = 200
"""Characters of a write that are shown of it."""
DEEPEST = 50
"""Levels of nesting that an answer may have."""


def item_key(index: int) -> str:
    """The id of an item among its batch's tasks."""
    return f"item-{index}"


class NoValue(ValueError):
    """An answer that is not what its step declares; the message says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step; the texts are templates."""

    id: str
    agent: str
    prompt: str
    keep: str | None = None
    writes: str | None = None
    kind: str = "text"
    """text, json or number: what its answer is read as."""
    reducer: str | None = None
    title: str | None = None
    target: str | None = None
    folder: str | None = None
    priority: int = 0
    conversation: str | None = None
    """The name of a conversation of the batch; None, or where it comes to nothing: the item's."""


@dataclass(frozen=True, slots=True)
class Foreach:
    """The plan that all items of a batch share."""

    steps: tuple[Step, ...]


def foreach_from(block: Mapping[str, Any]) -> Foreach:
    """The plan in a checked block; what a step does not say, the block says for all.

    Raises:
        KeyError, TypeError: it is none.
    """
    shared = {key: block.get(key) for key in ("title", "target", "folder", "priority")}
    return Foreach(tuple(_step({**shared, **step}) for step in block["steps"]))


def _step(block: Mapping[str, Any]) -> Step:
    return Step(
        id=block["id"],
        agent=block["agent"],
        prompt=block["prompt"],
        keep=block.get("keep"),
        writes=block.get("writes"),
        kind=block.get("as") or "text",
        reducer=block.get("reducer"),
        title=block.get("title"),
        target=block.get("target"),
        folder=block.get("folder"),
        priority=block.get("priority") or 0,
        conversation=block.get("conversation"),
    )


def value_of(kind: str, answer: str) -> Any:
    """What an agent's answer is as a value.

    Raises:
        NoValue: it is not of that kind.
    """
    if kind == "text":
        return answer
    try:
        value = json.loads(answer, parse_constant=_refuse)
        checked = _clean(value, DEEPEST)
    except RecursionError:
        raise NoValue("its answer is nested too deeply") from None
    except ValueError as error:
        raise NoValue(f"its answer is not {_KINDS[kind]}: {error}") from None
    if kind == "number" and (isinstance(checked, bool) or not isinstance(checked, int | float)):
        raise NoValue("its answer is not a number")
    return checked


_KINDS = {"json": "JSON", "number": "a number"}


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _clean(value: Any, depth: int) -> Any:
    """Foreign text in a value made inert; a number that cannot be written again is refused."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number in it is too large")
    if not isinstance(value, dict | list):
        return value
    if not depth:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    if isinstance(value, list):
        return [_clean(inner, depth - 1) for inner in value]
    return {clean_text(key): _clean(inner, depth - 1) for key, inner in value.items()}


def write_words(path: str, value: str) -> str:
    """A write as one short line, from its path and its value as JSON."""
    return clean_line(f"{path} ← {value}", SHOWN)


def names_after(steps: tuple[Step, ...], step: int) -> Iterator[str]:
    """What the templates of a step may name of what earlier steps left."""
    for earlier in steps[:step]:
        if earlier.keep is not None:
            yield earlier.keep
        if earlier.writes is not None:
            yield earlier.writes.partition(".")[0]
