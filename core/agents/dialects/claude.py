"""The JSON lines of `claude -p --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.dialect import (
    LastWords,
    bounded,
    count,
    failed,
    incomplete,
    money,
    part,
    read_event,
    session_id,
    succeeded,
    total,
    word,
)
from batchdeck.core.model.agent import Agent

_UNFINISHED = frozenset({"error_max_turns", "error_max_budget_usd", "error_during_execution"})


class Claude:
    """Success is exit code 0 and a last `result` without `is_error`.

    `subtype` says success for an API error too. `usage` is one turn's, `total_cost_usd` the whole
    session's so far.
    """

    def __init__(self, agent: Agent) -> None:
        self.final = False
        self._result: Mapping[str, Any] | None = None
        self._session: str | None = None
        self._said = ""
        self._tokens_in: int | None = None
        self._tokens_out: int | None = None
        self._noise = LastWords()

    def take(self, line: bytes) -> None:
        event = read_event(line)
        if event is None:
            self._noise.add(line)
            return
        self._session = session_id(event, "session_id") or self._session
        match word(event, "type"):
            case "assistant":
                self.final = False
                self._said = _text(part(event, "message").get("content")) or self._said
            case "result":
                self._take_result(event)

    def _take_result(self, event: Mapping[str, Any]) -> None:
        self.final = True
        self._result = event
        usage = part(event, "usage")
        self._tokens_in = total(self._tokens_in, count(usage, "input_tokens"))
        self._tokens_out = total(self._tokens_out, count(usage, "output_tokens"))

    def outcome(self, code: int) -> Outcome:
        return replace(
            self._verdict(code),
            session=self._session,
            tokens_in=self._tokens_in,
            tokens_out=self._tokens_out,
            cost=money(self._result or {}, "total_cost_usd"),
        )

    def _verdict(self, code: int) -> Outcome:
        if self._result is None:
            text = bounded(self._said)
            if code:
                return failed(code, text, self._noise.last())
            return incomplete(text, "it ended without a result")
        text = bounded(word(self._result, "result") or self._said)
        subtype = word(self._result, "subtype")
        if (subtype in _UNFINISHED and code == 0) or subtype == "error_max_turns":
            return incomplete(text, _why(self._result), code)
        if code or self._result.get("is_error"):
            return failed(code, text, _why(self._result) if self._result.get("is_error") else "")
        return succeeded(text)


def _text(blocks: Any) -> str:
    """The text in a message's content."""
    if not isinstance(blocks, list):
        return blocks if isinstance(blocks, str) else ""
    return "".join(
        word(block, "text")
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "text"
    )


def _why(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    listed = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
    return word(result, "result") or listed or word(result, "subtype")
