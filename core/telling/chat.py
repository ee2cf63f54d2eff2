"""What the stream of a chat server tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batchdeck.core.foreign_json import count, objects, part, word
from batchdeck.core.telling.said import Kind, Said, tool, usage


class Chat:
    """Text comes in pieces; usage, where the server gives it, in an event of its own."""

    def __init__(self) -> None:
        self._error = ""

    def told(self, event: Mapping[str, Any]) -> Iterator[Said] | None:
        """See `Teller.told`."""
        if event.get("error"):
            return self._failed(event["error"])
        if "choices" not in event and "usage" not in event:
            return None
        return _chunk(event)

    def _failed(self, error: Any) -> Iterator[Said]:
        words = word(error, "message") if isinstance(error, dict) else str(error)
        if words != self._error:  # the deck notes once more what the server said
            yield Said(Kind.ERROR, words or "an error")
        self._error = words


def _chunk(event: Mapping[str, Any]) -> Iterator[Said]:
    for choice in objects(event, "choices"):
        yield from _choice(choice)
    used = part(event, "usage")
    yield from usage(count(used, "prompt_tokens"), count(used, "completion_tokens"))


def _choice(choice: Mapping[str, Any]) -> Iterator[Said]:
    delta = part(choice, "delta")
    thought = word(delta, "reasoning_content") or word(delta, "reasoning")
    if thought:
        yield Said(Kind.THOUGHT, thought, goes_on=True)
    if word(delta, "content"):
        yield Said(Kind.TEXT, word(delta, "content"), goes_on=True)
    for call in objects(delta, "tool_calls"):
        name = word(part(call, "function"), "name")
        if name:  # its arguments come in pieces; a chat agent carries nothing out
            yield tool(f"{name} (not carried out)", None)
    finish = word(choice, "finish_reason")
    if finish:
        yield Said(Kind.RESULT if finish == "stop" else Kind.ERROR, f"finished: {finish}")
