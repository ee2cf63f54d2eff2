"""Output that is text, or whose last line is JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.dialect import LastWords, failed, incomplete, succeeded
from batchdeck.core.agents.dialects.limits import is_notice, limit_from
from batchdeck.core.agents.dialects.patterns import compiled
from batchdeck.core.model.agent import Agent
from batchdeck.core.text import decode


class Text:
    """Success is exit code 0, the success pattern found and the failure pattern not.

    Patterns are looked for in every line, then, for those that span lines, in the final text.
    """

    final = False

    def __init__(self, agent: Agent) -> None:
        self._words = LastWords()
        self._success = _Search(agent.success_pattern)
        self._failure = _Search(agent.failure_pattern)

    def take(self, line: bytes) -> None:
        self._words.add(line)
        if self._success.pattern or self._failure.pattern:
            text = decode(line)
            self._success.look(text)
            self._failure.look(text)

    def outcome(self, code: int) -> Outcome:
        text = self._words.text()
        self._success.look(text)
        self._failure.look(text)
        if code:
            last = self._words.last()
            limited = limit_from(last) if is_notice(last) else None
            return replace(failed(code, text, last), limited=limited)
        if self._failure.found:
            return failed(0, text, f"the failure pattern was found: {self._failure.words}")
        if self._success.pattern and not self._success.found:
            return incomplete(text, f"the success pattern was not found: {self._success.words}")
        return succeeded(text)


class _Search:
    def __init__(self, pattern: str | None) -> None:
        self.words = pattern or ""
        self.pattern = compiled(pattern) if pattern else None
        self.found = False

    def look(self, text: str) -> None:
        if self.pattern and not self.found:
            self.found = self.pattern.search(text) is not None


class JsonLines:
    """Success is exit code 0 and a last line that parses."""

    final = False

    def __init__(self, agent: Agent) -> None:
        self._words = LastWords()
        self._last = b""

    def take(self, line: bytes) -> None:
        self._words.add(line)
        self._last = line if line.strip() else self._last

    def outcome(self, code: int) -> Outcome:
        text = self._words.text()
        if code:
            return failed(code, text, self._words.last())
        try:
            json.loads(self._last)
        except (ValueError, RecursionError):
            return incomplete(text, "its last line is not JSON")
        return succeeded(text)
