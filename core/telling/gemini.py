"""What `gemini --output-format stream-json` tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batchdeck.core.foreign_json import count, part, word
from batchdeck.core.telling.said import Kind, Said, nothing, tool, tool_result, usage


class Gemini:
    """Text comes in pieces."""

    def told(self, event: Mapping[str, Any]) -> Iterator[Said] | None:
        """See `Teller.told`."""
        match word(event, "type"):
            case "init":
                return nothing()
            case "message" if word(event, "role") != "assistant":
                return nothing()
            case "message":
                piece = Said(Kind.TEXT, word(event, "content"), goes_on=bool(event.get("delta")))
                return iter((piece,))
            case "tool_use":
                return iter((tool(word(event, "tool_name"), event.get("parameters")),))
            case "tool_result":
                failed = word(event, "status") == "error"
                text = word(event, "output") or word(part(event, "error"), "message")
                return iter((tool_result(text, failed=failed),))
            case "error":
                return iter((Said(Kind.ERROR, word(event, "message")),))
            case "result":
                return _result(event)
        return None


def _result(event: Mapping[str, Any]) -> Iterator[Said]:
    stats = part(event, "stats")
    yield from usage(count(stats, "input_tokens"), count(stats, "output_tokens"))
    if word(event, "status") == "success":
        yield Said(Kind.RESULT, "success")
    else:
        yield Said(Kind.ERROR, word(part(event, "error"), "message") or word(event, "status"))
