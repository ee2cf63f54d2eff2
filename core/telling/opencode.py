"""What `opencode run --format json` tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batchdeck.core.foreign_json import count, money, part, word
from batchdeck.core.telling.said import Kind, Said, nothing, tool, tool_result, usage


class OpenCode:
    """A tool is told once it has ended; usage is each step's own."""

    def told(self, event: Mapping[str, Any]) -> Iterator[Said] | None:
        """See `Teller.told`."""
        body = part(event, "part")
        match word(event, "type"):
            case "step_start":
                return nothing()
            case "text":
                return iter((Said(Kind.TEXT, word(body, "text")),))
            case "reasoning":
                return iter((Said(Kind.THOUGHT, word(body, "text")),))
            case "tool_use":
                return _tool(body)
            case "step_finish":
                tokens = part(body, "tokens")
                return usage(count(tokens, "input"), count(tokens, "output"), money(body, "cost"))
            case "error":
                error = part(event, "error")
                words = word(part(error, "data"), "message") or word(error, "name") or "error"
                return iter((Said(Kind.ERROR, words),))
        return None


def _tool(body: Mapping[str, Any]) -> Iterator[Said]:
    state = part(body, "state")
    yield tool(word(body, "tool"), state.get("input"))
    failed = word(state, "status") == "error"
    yield tool_result(word(state, "error" if failed else "output"), failed=failed)
