"""The JSON lines of `opencode run --format json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.dialect import failed, incomplete, session_id, succeeded
from batchdeck.core.agents.dialects.events import EventLines
from batchdeck.core.foreign_json import money, part, word


class OpenCode(EventLines):
    """Success is exit code 0, a last step that finished for another reason than tools, no error.

    It has no event for its result; tokens and cost are each step's own, and add up.
    """

    def on_event(self, event: Mapping[str, Any]) -> None:
        self.session = session_id(event, "sessionID") or self.session
        match word(event, "type"):
            case "step_start":
                self.final = False
            case "text":
                self.said = word(part(event, "part"), "text")
            case "step_finish":
                self._take_step(part(event, "part"))
            case "error":
                error = part(event, "error")
                self.why = word(part(error, "data"), "message") or word(error, "name") or "error"

    def _take_step(self, step: Mapping[str, Any]) -> None:
        self.final = word(step, "reason") != "tool-calls"
        self.add_tokens(part(step, "tokens"), "input", "output")
        cost = money(step, "cost")
        self.cost = self.cost if cost is None else (self.cost or 0.0) + cost

    def verdict(self, code: int) -> Outcome:
        if code or self.why:
            return failed(code, self.text, self.why or self.last_noise)
        if not self.final:
            return incomplete(self.text, "it ended in the middle of a step")
        return succeeded(self.text)
