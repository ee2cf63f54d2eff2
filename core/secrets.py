"""Values that only an agent's process may know: hidden wherever a program has repeated them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from batchdeck.core.model.agent import Agent
from batchdeck.core.port import OutputPage

SHORTEST = 8
"""Characters; a shorter value is found in too much that is none."""
HIDDEN = "[hidden]"


class Secrets:
    """The values of the variables that agents' definitions name."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value for value in values if len(value) >= SHORTEST}
        known |= {json.dumps(value)[1:-1] for value in known}  # as it stands in JSON
        self._texts = sorted(known, key=len, reverse=True)
        self._bytes = [value.encode("utf-8", "surrogateescape") for value in self._texts]
        self.longest = max(map(len, self._bytes), default=0)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def hide(self, text: str) -> str:
        """A text without them."""
        for value in self._texts:
            text = text.replace(value, HIDDEN)
        return text

    def mask(self, data: bytes) -> bytes:
        """As many bytes, stars where they stood: offsets stay what they are."""
        for value in self._bytes:
            data = data.replace(value, b"*" * len(value))
        return data

    def begun_at_end(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of one of them."""
        for length in range(min(self.longest - 1, len(data)), 0, -1):
            tail = data[-length:]
            if any(len(value) > length and value.startswith(tail) for value in self._bytes):
                return length
        return 0


NONE = Secrets()


def secrets_of(agents: Iterable[Agent | None], environment: Mapping[str, str]) -> Secrets:
    """The values that the agents' definitions name."""
    names = {
        name
        for agent in agents
        if agent is not None
        for name in (*agent.pass_env, agent.api_key_env)
        if name is not None
    }
    return Secrets(environment[name] for name in names if name in environment) if names else NONE


_Value = TypeVar("_Value")


def without_secrets(value: _Value, secrets: Secrets) -> _Value:
    """A value with none of them in any text of it, however deep that lies."""
    return _hidden(value, secrets) if secrets else value


def _hidden(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return secrets.hide(value)
    if isinstance(value, tuple):
        return tuple(_hidden(one, secrets) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(value, **{name: _hidden(one, secrets) for name, one in found.items()})
    return value


ReadPage = Callable[[int, int], OutputPage]
"""Reads a piece of an output: its start, and a limit in bytes."""


def masked_page(read: ReadPage, start: int, limit: int, secrets: Secrets) -> OutputPage:
    """A piece of an output without secrets, also those that its borders cut in two.

    What may be the beginning of one, at the end of an output that still grows, is kept back.
    """
    page = read(start, limit)
    if not secrets or not page.data:
        return page
    reach = secrets.longest - 1
    before = read(page.start - min(page.start, reach), min(page.start, reach))
    lead = before.data if before.data and before.end == page.start else b""
    after = read(page.end, reach)
    trail = after.data if after.start == page.end else b""
    data = secrets.mask(lead + page.data + trail)[len(lead) : len(lead) + len(page.data)]
    if not page.ended and page.end + len(trail) >= page.size:
        begun = max(0, secrets.begun_at_end(page.data + trail) - len(trail))
        data = data[: len(data) - begun]
    return replace(page, data=data)
