"""What `claude -p --output-format stream-json` tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batchdeck.core.foreign_json import count, money, objects, part, word
from batchdeck.core.telling.said import Kind, Said, nothing, text_of, tool, tool_result, usage


class Claude:
    """With partial messages a text comes in pieces, and then once more as a whole."""

    def __init__(self) -> None:
        self._in_pieces: set[Kind] = set()
        """What of the message at work has come in pieces already."""

    def told(self, event: Mapping[str, Any]) -> Iterator[Said] | None:
        """See `Teller.told`."""
        match word(event, "type"):
            case "assistant":
                return self._message(part(event, "message").get("content"))
            case "user":
                return _back(part(event, "message").get("content"))
            case "stream_event":
                return self._piece(part(event, "event"))
            case "system" if word(event, "subtype") == "api_retry":
                return _retry(event)
            case "system":
                return nothing()
            case "rate_limit_event":
                return _limit(part(event, "rate_limit_info"))
            case "result":
                return _result(event)
        return None

    def _message(self, content: Any) -> Iterator[Said]:
        for block in _blocks(content):
            match word(block, "type"):
                case "text" if Kind.TEXT not in self._in_pieces:
                    yield Said(Kind.TEXT, word(block, "text"))
                case "thinking" if Kind.THOUGHT not in self._in_pieces:
                    yield Said(Kind.THOUGHT, word(block, "thinking"))
                case "tool_use":
                    yield tool(word(block, "name"), block.get("input"))

    def _piece(self, event: Mapping[str, Any]) -> Iterator[Said]:
        if word(event, "type") == "message_start":
            self._in_pieces.clear()
        delta = part(event, "delta")
        pieces = {"text_delta": (Kind.TEXT, "text"), "thinking_delta": (Kind.THOUGHT, "thinking")}
        kind, name = pieces.get(word(delta, "type"), (Kind.RAW, ""))
        if name:
            self._in_pieces.add(kind)
            yield Said(kind, word(delta, name), goes_on=True)


def _blocks(content: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _back(content: Any) -> Iterator[Said]:
    """What comes back to the model: tools' results, and words such as of an interruption."""
    for block in _blocks(content):
        if word(block, "type") == "tool_result":
            failed = bool(block.get("is_error"))
            yield tool_result(text_of(block.get("content")), failed=failed)
        elif word(block, "text").startswith("[Request interrupted"):
            yield Said(Kind.ERROR, word(block, "text"))


def _retry(event: Mapping[str, Any]) -> Iterator[Said]:
    wait = count(event, "retry_delay_ms")
    when = "" if wait is None else f" in {wait / 1_000:g} s"
    attempt = f"{count(event, 'attempt')} of {count(event, 'max_retries')}"
    why = word(event, "error") or str(event.get("error_status") or "")
    yield Said(Kind.RETRY, f"try {attempt}{when}: {why}")


def _limit(info: Mapping[str, Any]) -> Iterator[Said]:
    if word(info, "status") == "rejected":
        yield Said(Kind.ERROR, "a limit of its account does not allow the request")


def _result(event: Mapping[str, Any]) -> Iterator[Said]:
    for denial in objects(event, "permission_denials"):
        denied = tool(word(denial, "tool_name"), denial.get("tool_input"))
        yield Said(Kind.PERMISSION, f"denied by its own settings: {denied.words}")
    used = part(event, "usage")
    yield from usage(
        count(used, "input_tokens"), count(used, "output_tokens"), money(event, "total_cost_usd")
    )
    subtype = word(event, "subtype")
    if event.get("is_error") or subtype != "success":
        errors = event.get("errors")
        listed = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
        yield Said(Kind.ERROR, word(event, "result") or listed or subtype)
        return
    turns = count(event, "num_turns")
    yield Said(Kind.RESULT, "success" + ("" if turns is None else f" after {turns} turns"))
