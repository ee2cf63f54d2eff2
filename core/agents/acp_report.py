"""What an ACP agent has told so far: raw for the output, and as far as its outcome needs it."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

from acp.schema import SessionNotification
from pydantic import ValidationError

from batchdeck.core.agents.output import EventOutput
from batchdeck.core.foreign_json import money
from batchdeck.core.model.permission import Decision, Permission
from batchdeck.core.telling.acp import DECIDED
from batchdeck.core.text import decode, one_line

MOST_TEXT = 4 * 1024 * 1024
_MOST_CALLS = 200
"""Calls of tools that are remembered, for what may still be asked about them."""
_TAIL = 20


_OF_A_CALL = ("title", "kind", "locations", "raw_input", "content")


@dataclass(slots=True)
class Report:
    """The output is the protocol's own messages, one a line, as they came."""

    output: EventOutput
    said: str = ""
    session_cost: float | None = None
    """Cumulative, as the protocol has it."""
    replaying: bool = False
    """An older session is being loaded: what it tells is known."""
    noise: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL))
    """Lines that are no message, and what was written to standard error."""
    _calls: OrderedDict[str, dict[str, Any]] = field(default_factory=OrderedDict)

    def notified(self, message: dict[str, Any]) -> None:
        """What is told without an answer; of an unknown kind or form: nothing happens."""
        if self.replaying or message["method"] != "session/update":
            return
        try:
            self._take(SessionNotification.model_validate(message.get("params")).update)
        except ValidationError:
            return  # it stands in the output, as everything does

    def _take(self, update: Any) -> None:
        match getattr(update, "session_update", ""):
            case "agent_message_chunk":
                text = getattr(update.content, "text", "") or ""
                self.said = (self.said + text)[-MOST_TEXT:]
            case "tool_call":
                self.said = ""
                self.call(update)
            case "tool_call_update":
                self.call(update)
            case "usage_update" if update.cost is not None:
                self.session_cost = money({"amount": update.cost.amount}, "amount")

    def call(self, told: Any) -> dict[str, Any]:
        """All that was told of a tool's call, this included, by field."""
        known = self._calls.setdefault(told.tool_call_id, {"tool_call_id": told.tool_call_id})
        self._calls.move_to_end(told.tool_call_id)
        while len(self._calls) > _MOST_CALLS:
            self._calls.popitem(last=False)
        for name in _OF_A_CALL:
            value = getattr(told, name, None)
            if value is not None:
                known[name] = value
        return dict(known)

    def message(self, line: bytes, message: dict[str, Any]) -> None:
        """A message that came; answers to us tell nothing, but for that to the prompt."""
        result = message.get("result")
        tells = "method" in message or "error" in message
        tells = tells or (isinstance(result, dict) and "stopReason" in result)
        if tells and not self.replaying:
            self.output.write(line)

    def decided(self, permission: Permission, decision: Decision) -> None:
        """How a permission was decided, as a line of our own."""
        told = {"title": permission.title, "decision": str(decision)}
        message = {"jsonrpc": "2.0", "method": DECIDED, "params": told}
        self.output.write(json.dumps(message, separators=(",", ":")).encode())

    def heard(self, line: bytes) -> None:
        """A line that is no message of the protocol."""
        words = one_line(decode(line[-4096:]))
        if words:
            self.noise.append(words)
            self.output.write(line)

    @property
    def last_noise(self) -> str:
        return self.noise[-1] if self.noise else ""
