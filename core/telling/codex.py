"""What `codex exec --json` tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batchdeck.core.foreign_json import count, objects, part, read_event, word
from batchdeck.core.telling.said import Kind, Said, nothing, text_of, tool, tool_result, usage


class Codex:
    """An item is told where it begins, and what it came to where it is completed."""

    def __init__(self) -> None:
        self._error = ""

    def told(self, event: Mapping[str, Any]) -> Iterator[Said] | None:
        """See `Teller.told`."""
        match word(event, "type"):
            case "thread.started" | "turn.started" | "item.updated":
                return nothing()
            case "item.started":
                return _begun(part(event, "item"))
            case "item.completed":
                return _completed(part(event, "item"))
            case "turn.completed":
                return _ended(part(event, "usage"))
            case "error":
                return self._failed(event)
            case "turn.failed":
                return self._failed(part(event, "error"))
        return None

    def _failed(self, error: Mapping[str, Any]) -> Iterator[Said]:
        text = word(error, "message")
        document = read_event(text.encode("utf-8", "replace")) or {}
        words = word(part(document, "error"), "message") or text
        if words != self._error:  # a turn fails with the words of the error before
            yield Said(Kind.ERROR, words or "the turn failed")
        self._error = words


def _begun(item: Mapping[str, Any]) -> Iterator[Said]:
    match word(item, "type"):
        case "command_execution":
            yield Said(Kind.TOOL, word(item, "command"))
        case "mcp_tool_call":
            name = f"{word(item, 'server')}.{word(item, 'tool')}"
            yield tool(name, item.get("arguments"))


def _completed(item: Mapping[str, Any]) -> Iterator[Said] | None:
    match word(item, "type"):
        case "agent_message":
            return iter((Said(Kind.TEXT, word(item, "text")),))
        case "reasoning":
            return iter((Said(Kind.THOUGHT, word(item, "text")),))
        case "command_execution":
            code = count(item, "exit_code")
            failed = word(item, "status") == "failed" or code not in (0, None)
            return iter((tool_result(word(item, "aggregated_output"), failed=failed),))
        case "mcp_tool_call":
            text = text_of(part(item, "result").get("content"))
            error = word(part(item, "error"), "message")
            return iter((tool_result(error or text, failed=bool(error)),))
        case "file_change":
            return iter((_changes(item),))
        case "web_search":
            return iter((tool("web search", item.get("query")),))
        case "todo_list":
            return iter((_todo(item),))
        case "error":  # a warning of its own: it goes on
            return iter((Said(Kind.RAW, f"warning: {word(item, 'message')}"),))
    return None


def _changes(item: Mapping[str, Any]) -> Said:
    changes = (f"{word(one, 'kind')} {word(one, 'path')}" for one in objects(item, "changes"))
    return Said(Kind.TOOL, ", ".join(changes))


def _todo(item: Mapping[str, Any]) -> Said:
    lines = (
        f"{'✓' if step.get('completed') else '-'} {word(step, 'text')}"
        for step in objects(item, "items")
    )
    return Said(Kind.THOUGHT, "\n".join(lines))


def _ended(used: Mapping[str, Any]) -> Iterator[Said]:
    yield from usage(count(used, "input_tokens"), count(used, "output_tokens"))
    yield Said(Kind.RESULT, "turn completed")
