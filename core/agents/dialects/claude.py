"""The JSON lines of `claude -p --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.dialect import (
    bounded,
    failed,
    incomplete,
    session_id,
    succeeded,
)
from batchdeck.core.agents.dialects.events import EventLines
from batchdeck.core.agents.dialects.limits import is_notice, limit_from
from batchdeck.core.foreign_json import count, money, part, word
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.agent import Agent

_UNFINISHED = frozenset({"error_max_turns", "error_max_budget_usd", "error_during_execution"})
_OF_ITS_OWN = "<synthetic>"
"""The model of messages that no model wrote, but the program itself."""
_TOO_MANY = 429


class Claude(EventLines):
    """Success is exit code 0 and a last `result` without `is_error`.

    `subtype` says success for an API error too. `usage` is one turn's, `total_cost_usd` the whole
    session's so far.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self._result: Mapping[str, Any] | None = None
        self._by_itself = False
        """The latest message is of no model."""
        self._rejected: Mapping[str, Any] = {}
        """What was said of a request that the account's limits did not allow."""

    def on_event(self, event: Mapping[str, Any]) -> None:
        self.session = session_id(event, "session_id") or self.session
        match word(event, "type"):
            case "assistant":
                self.final = False
                self._by_itself = word(part(event, "message"), "model") == _OF_ITS_OWN
                self.said = _text(part(event, "message").get("content")) or self.said
            case "rate_limit_event":
                info = part(event, "rate_limit_info")
                self._rejected = info if word(info, "status") == "rejected" else {}
            case "result":
                self._take_result(event)

    def _take_result(self, event: Mapping[str, Any]) -> None:
        self.final = True
        self._result = event
        self.session_cost = money(event, "total_cost_usd")
        self.add_tokens(part(event, "usage"), "input_tokens", "output_tokens")
        words = _why(event)
        is_error = bool(event.get("is_error"))
        self.why = words if is_error else ""
        self.limit = self._limit_in(event, words, is_error)

    def _limit_in(self, result: Mapping[str, Any], words: str, is_error: bool) -> UsageLimit | None:
        """The used-up account that a result is due to, whatever the result calls itself."""
        refused = is_error and count(result, "api_error_status") == _TOO_MANY
        notice = is_notice(words) and (is_error or self._by_itself)
        if not (refused or notice or (is_error and self._rejected)):
            return None
        limit = limit_from(words)
        resets = count(self._rejected, "resetsAt")
        return limit if resets is None else replace(limit, at_ms=resets * 1_000, time_of_day=None)

    def verdict(self, code: int) -> Outcome:
        if self._result is None:
            if code:
                return failed(code, self.text, self.last_noise)
            return incomplete(self.text, "it ended without a result")
        text = bounded(word(self._result, "result") or self.said)
        subtype = word(self._result, "subtype")
        if (subtype in _UNFINISHED and code == 0) or subtype == "error_max_turns":
            return incomplete(text, _why(self._result), code)
        if code or self.why or self.limit is not None:
            return failed(code, text, self.why or (self.limit.words if self.limit else ""))
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
    return word(result, "result") or listed or word(result, "subtype") or "an error"
