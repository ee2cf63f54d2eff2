"""The JSON lines of `gemini --output-format stream-json`."""

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
    part,
    read_event,
    session_id,
    succeeded,
    word,
)
from batchdeck.core.model.agent import Agent


class Gemini:
    """Success is exit code 0 and a `result` whose status is success; text comes in pieces."""

    def __init__(self, agent: Agent) -> None:
        self.final = False
        self._result: Mapping[str, Any] | None = None
        self._session: str | None = None
        self._pieces: list[str] = []
        self._is_talking = False
        self._noise = LastWords()

    def take(self, line: bytes) -> None:
        event = read_event(line)
        if event is None:
            self._noise.add(line)
            return
        speaks = event.get("type") == "message" and event.get("role") == "assistant"
        if speaks:
            self._take_message(event)
        elif event.get("type") == "init":
            self._session = session_id(event, "session_id")
        elif event.get("type") == "result":
            self.final = True
            self._result = event
        self._is_talking = speaks

    def _take_message(self, event: Mapping[str, Any]) -> None:
        if not (self._is_talking and event.get("delta")):
            self._pieces.clear()
        self._pieces.append(word(event, "content"))

    def outcome(self, code: int) -> Outcome:
        stats = part(self._result or {}, "stats")
        return replace(
            self._verdict(code),
            session=self._session,
            tokens_in=count(stats, "input_tokens"),
            tokens_out=count(stats, "output_tokens"),
        )

    def _verdict(self, code: int) -> Outcome:
        text = bounded("".join(self._pieces))
        result = self._result or {}
        is_success = result.get("status") == "success"
        if code or (self._result is not None and not is_success):
            return failed(code, text, word(part(result, "error"), "message") or self._noise.last())
        if not is_success:
            return incomplete(text, "it ended without a result")
        return succeeded(text)
