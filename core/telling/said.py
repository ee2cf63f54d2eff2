"""The events that every output is told in, and the words that several kinds of them share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from batchdeck.core.text import clean_line, one_line

MOST_RESULT_LINES = 12
"""Of what a tool gave back; the rest stands in the raw output."""
_MOST_ARGUMENTS = 300
_TELLING = ("command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "prompt")
"""Arguments that say by themselves what a tool is about."""


class Kind(StrEnum):
    TEXT = "text"
    THOUGHT = "thought"
    TOOL = "tool"
    TOOL_RESULT = "tool result"
    PERMISSION = "permission"
    RETRY = "retry"
    USAGE = "usage"
    RESULT = "result"
    ERROR = "error"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that an agent's output tells."""

    kind: Kind
    words: str
    """As the program wrote them; they are cleaned where they become lines."""
    goes_on: bool = False
    """A piece: what follows of the same kind belongs to it, without a break."""


class Teller(Protocol):
    """Understands the output of one kind of agent, event by event."""

    def told(self, event: Mapping[str, Any]) -> Iterator[Said] | None:
        """What an event tells, which may be nothing; None: it is not known."""
        ...


def tool(name: str, arguments: Any) -> Said:
    """A tool that is called: its name, and what it is about."""
    about, called = _about(arguments), clean_line(name, 200)
    return Said(Kind.TOOL, called if about in called else f"{called}  {about}")


def _about(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return one_line(str(arguments or ""), _MOST_ARGUMENTS)
    named = [arguments[name] for name in _TELLING if isinstance(arguments.get(name), str)]
    if named:
        return one_line(named[0], _MOST_ARGUMENTS)
    text = json.dumps(arguments, ensure_ascii=False) if arguments else ""
    return one_line(text, _MOST_ARGUMENTS)


def tool_result(text: str, *, failed: bool = False) -> Said:
    """What a tool gave back, its beginning."""
    lines = text.strip("\n").split("\n")
    left = len(lines) - MOST_RESULT_LINES
    shown = lines[:MOST_RESULT_LINES] + ([f"… {left} lines more"] if left > 0 else [])
    return Said(Kind.TOOL_RESULT, "\n".join([*(["failed"] if failed else []), *shown]).strip("\n"))


def usage(
    tokens_in: int | None, tokens_out: int | None, cost: float | None = None
) -> Iterator[Said]:
    """What was used, as far as it was said; nothing where nothing was."""
    parts = []
    if tokens_in is not None or tokens_out is not None:
        read, written = ("unknown" if n is None else f"{n:,}" for n in (tokens_in, tokens_out))
        parts.append(f"{read} tokens in, {written} out")
    if cost is not None:
        parts.append(f"{cost:.4f} money")
    if parts:
        yield Said(Kind.USAGE, ", ".join(parts))


def text_of(content: Any) -> str:
    """The text in a message's content: itself, or that of its blocks."""
    if isinstance(content, str):
        return content
    blocks: Iterable[Any] = content if isinstance(content, list) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def nothing() -> Iterator[Said]:
    """An event that is known, and tells nobody anything."""
    return iter(())
