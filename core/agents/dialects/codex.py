"""The JSON lines of `codex exec --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.dialect import failed, incomplete, session_id, succeeded
from batchdeck.core.agents.dialects.events import EventLines
from batchdeck.core.foreign_json import part, read_event, word
from batchdeck.core.model.agent import Agent


class Codex(EventLines):
    """Success is exit code 0 and a last turn that was completed; an `error` item only warns."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self._completed = False

    def on_event(self, event: Mapping[str, Any]) -> None:
        match word(event, "type"):
            case "thread.started":
                self.session = session_id(event, "thread_id")
            case "turn.started":
                self.final = self._completed = False
            case "item.completed" if word(part(event, "item"), "type") == "agent_message":
                self.said = word(part(event, "item"), "text")
            case "error":
                self.why = _message(word(event, "message"))
            case "turn.failed":
                self.final = True
                self.why = _message(word(part(event, "error"), "message")) or self.why
            case "turn.completed":
                self.final = self._completed = True
                self.add_tokens(part(event, "usage"), "input_tokens", "output_tokens")

    def verdict(self, code: int) -> Outcome:
        if code or (self.final and not self._completed):
            return failed(code, self.text, self.why or self.last_noise)
        if not self._completed:
            return incomplete(self.text, "it ended before its turn was completed")
        return succeeded(self.text)


def _message(text: str) -> str:
    """The words in an error, which may be a provider's JSON."""
    document = read_event(text.encode("utf-8", "replace"))
    return text if document is None else word(part(document, "error"), "message") or text
