"""The JSON lines of `gemini --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.dialect import failed, incomplete, session_id, succeeded
from batchdeck.core.agents.dialects.events import EventLines
from batchdeck.core.foreign_json import part, word
from batchdeck.core.model.agent import Agent


class Gemini(EventLines):
    """Success is exit code 0 and a `result` whose status is success; text comes in pieces."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self._result: Mapping[str, Any] | None = None
        self._is_talking = False

    def on_event(self, event: Mapping[str, Any]) -> None:
        speaks = event.get("type") == "message" and event.get("role") == "assistant"
        if speaks:
            goes_on = self._is_talking and bool(event.get("delta"))
            self.said = (self.said if goes_on else "") + word(event, "content")
        elif event.get("type") == "init":
            self.session = session_id(event, "session_id")
        elif event.get("type") == "result":
            self.final = True
            self._result = event
            self.why = word(part(event, "error"), "message")
            self.add_tokens(part(event, "stats"), "input_tokens", "output_tokens")
        self._is_talking = speaks

    def verdict(self, code: int) -> Outcome:
        is_success = (self._result or {}).get("status") == "success"
        if code or (self._result is not None and not is_success):
            return failed(code, self.text, self.why or self.last_noise)
        if not is_success:
            return incomplete(self.text, "it ended without a result")
        return succeeded(self.text)
