"""What the messages of an agent that speaks the Agent Client Protocol tell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from batchdeck.core.foreign_json import count, money, objects, part, word
from batchdeck.core.telling.said import Kind, Said, nothing, tool, tool_result, usage

DECIDED = "batchdeck/permission"
"""The method of the lines of our own in such an output: how a permission was decided."""
_MOST_TITLES = 1_000
_PIECES = {"agent_message_chunk": Kind.TEXT, "agent_thought_chunk": Kind.THOUGHT}
_OF_NO_INTEREST = frozenset(
    {
        "user_message_chunk",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
    }
)


class Acp:
    """Requests and notifications of the agent, and the answer to its prompt."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        """Of the calls of tools, for requests that name them by their id alone."""

    def told(self, event: Mapping[str, Any]) -> Iterator[Said] | None:
        """See `Teller.told`."""
        told = part(event, "params")
        match word(event, "method"):
            case "session/update":
                self._note(part(told, "update"))
                return _update(part(told, "update"))
            case "session/request_permission":
                call = part(told, "toolCall")
                known = self._titles.get(word(call, "toolCallId"))
                title = word(call, "title") or known or word(call, "toolCallId")
                return iter((Said(Kind.PERMISSION, f"wants to: {title}"),))
            case method if method == DECIDED:
                words = f"{word(told, 'decision')}: {word(told, 'title')}"
                return iter((Said(Kind.PERMISSION, words),))
            case "" if "error" in event:
                error = part(event, "error")
                return iter((Said(Kind.ERROR, word(error, "message") or "an error"),))
            case "" if "stopReason" in part(event, "result"):
                return _ended(part(event, "result"))
        return None

    def _note(self, update: Mapping[str, Any]) -> None:
        if word(update, "title"):
            if len(self._titles) >= _MOST_TITLES:
                self._titles.clear()
            self._titles[word(update, "toolCallId")] = word(update, "title")


def _update(update: Mapping[str, Any]) -> Iterator[Said] | None:
    kind = word(update, "sessionUpdate")
    if kind in _OF_NO_INTEREST:
        return nothing()
    match kind:
        case "agent_message_chunk" | "agent_thought_chunk":
            text = word(part(update, "content"), "text")
            return iter((Said(_PIECES[kind], text, goes_on=True),))
        case "tool_call":
            return iter((tool(word(update, "title"), update.get("rawInput")),))
        case "tool_call_update":
            return _progress(update)
        case "plan":
            return _plan(update)
        case "usage_update":
            return usage(None, None, money(part(update, "cost"), "amount"))
    return None


def _progress(update: Mapping[str, Any]) -> Iterator[Said]:
    status = word(update, "status")
    if status not in ("completed", "failed"):
        return
    yield tool_result(_result_text(update) or status, failed=status == "failed")


def _result_text(update: Mapping[str, Any]) -> str:
    blocks = objects(update, "content")
    texts = [word(part(block, "content"), "text") for block in blocks]
    texts += [f"changed {word(b, 'path')}" for b in blocks if word(b, "type") == "diff"]
    raw = update.get("rawOutput")
    if not any(texts) and raw is not None:
        return raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return "\n".join(filter(None, texts))


def _plan(update: Mapping[str, Any]) -> Iterator[Said]:
    lines = (
        f"- {word(entry, 'content')} ({word(entry, 'status')})"
        for entry in objects(update, "entries")
    )
    yield Said(Kind.THOUGHT, "\n".join(lines))


def _ended(result: Mapping[str, Any]) -> Iterator[Said]:
    used = part(result, "usage")
    yield from usage(count(used, "inputTokens"), count(used, "outputTokens"))
    reason = word(result, "stopReason")
    kind = Kind.RESULT if reason == "end_turn" else Kind.ERROR
    yield Said(kind, reason.replace("_", " "))
