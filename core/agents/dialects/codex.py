"""The JSON lines of `codex exec --json`."""

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
    total,
    word,
)
from batchdeck.core.model.agent import Agent


class Codex:
    """Success is exit code 0 and a last turn that was completed; an `error` item only warns."""

    def __init__(self, agent: Agent) -> None:
        self.final = False
        self._completed = False
        self._why = ""
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
        match word(event, "type"):
            case "thread.started":
                self._session = session_id(event, "thread_id")
            case "turn.started":
                self.final = self._completed = False
            case "item.completed" if word(part(event, "item"), "type") == "agent_message":
                self._said = word(part(event, "item"), "text")
            case "error":
                self._why = _message(word(event, "message"))
            case "turn.failed":
                self.final = True
                self._why = _message(word(part(event, "error"), "message")) or self._why
            case "turn.completed":
                self._take_completed(part(event, "usage"))

    def _take_completed(self, usage: Mapping[str, Any]) -> None:
        self.final = self._completed = True
        self._tokens_in = total(self._tokens_in, count(usage, "input_tokens"))
        self._tokens_out = total(self._tokens_out, count(usage, "output_tokens"))

    def outcome(self, code: int) -> Outcome:
        return replace(
            self._verdict(code),
            session=self._session,
            tokens_in=self._tokens_in,
            tokens_out=self._tokens_out,
        )

    def _verdict(self, code: int) -> Outcome:
        text = bounded(self._said)
        if code or (self.final and not self._completed):
            return failed(code, text, self._why or self._noise.last())
        if not self._completed:
            return incomplete(text, "it ended before its turn was completed")
        return succeeded(text)


def _message(text: str) -> str:
    """The words in an error, which may be a provider's JSON."""
    document = read_event(text.encode("utf-8", "replace"))
    return text if document is None else word(part(document, "error"), "message") or text
