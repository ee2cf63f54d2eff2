"""The JSON lines of `opencode run --format json`."""

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


class OpenCode:
    """Success is exit code 0, a last step that finished for another reason than tools, no error.

    It has no event for its result; tokens and cost are each step's own, and add up.
    """

    def __init__(self, agent: Agent) -> None:
        self.final = False
        self._why = ""
        self._session: str | None = None
        self._said = ""
        self._tokens_in: int | None = None
        self._tokens_out: int | None = None
        self._cost: float | None = None
        self._noise = LastWords()

    def take(self, line: bytes) -> None:
        event = read_event(line)
        if event is None:
            self._noise.add(line)
            return
        self._session = session_id(event, "sessionID") or self._session
        match word(event, "type"):
            case "step_start":
                self.final = False
            case "text":
                self._said = word(part(event, "part"), "text")
            case "step_finish":
                self._take_step(part(event, "part"))
            case "error":
                error = part(event, "error")
                self._why = word(part(error, "data"), "message") or word(error, "name") or "error"

    def _take_step(self, step: Mapping[str, Any]) -> None:
        self.final = word(step, "reason") != "tool-calls"
        tokens = part(step, "tokens")
        self._tokens_in = total(self._tokens_in, count(tokens, "input"))
        self._tokens_out = total(self._tokens_out, count(tokens, "output"))
        cost = money(step, "cost")
        self._cost = self._cost if cost is None else (self._cost or 0.0) + cost

    def outcome(self, code: int) -> Outcome:
        return replace(
            self._verdict(code),
            session=self._session,
            tokens_in=self._tokens_in,
            tokens_out=self._tokens_out,
            cost=self._cost,
        )

    def _verdict(self, code: int) -> Outcome:
        text = bounded(self._said)
        if code or self._why:
            return failed(code, text, self._why or self._noise.last())
        if not self.final:
            return incomplete(text, "it ended in the middle of a step")
        return succeeded(text)
