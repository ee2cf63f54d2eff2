"""What the dialects share that are JSON objects, one a line: an id, words, usage, and a verdict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.dialect import LastWords, bounded, total
from batchdeck.core.agents.dialects.limits import is_notice, limit_from, usage_limit
from batchdeck.core.foreign_json import count, read_event
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.turn import TurnState

_MAY_BE_LIMITED = frozenset({TurnState.FAILED, TurnState.INCOMPLETE})


class EventLines(ABC):
    """One attempt's output so far; a dialect says what its events mean and judges the end."""

    def __init__(self, agent: Agent) -> None:
        self.final = False
        self.session: str | None = None
        self.said = ""
        """The latest text of the agent itself."""
        self.why = ""
        """The program's own words for what went wrong."""
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.cost: float | None = None
        self.session_cost: float | None = None
        """Of the whole session so far, by programs that tell no more."""
        self.limit: UsageLimit | None = None
        """A used-up account that the program itself has named as such."""
        self._noise = LastWords()

    def take(self, line: bytes) -> None:
        """See `Dialect.take`."""
        event = read_event(line)
        if event is None:
            self._noise.add(line)
            return
        self.on_event(event)

    @abstractmethod
    def on_event(self, event: Mapping[str, Any]) -> None:
        """One event; of an unknown kind: nothing happens."""

    @abstractmethod
    def verdict(self, code: int) -> Outcome:
        """How it ended, by the program's own last event and its exit code."""

    def outcome(self, code: int) -> Outcome:
        """See `Dialect.outcome`."""
        verdict = self.verdict(code)
        return replace(
            verdict,
            session=self.session,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost=self.cost,
            session_cost=self.session_cost,
            limited=self._limit_behind(verdict),
        )

    def _limit_behind(self, verdict: Outcome) -> UsageLimit | None:
        """The used-up account that a failure is due to."""
        if verdict.state not in _MAY_BE_LIMITED:
            return None
        if self.limit is not None:
            return self.limit
        last = self.last_noise
        return usage_limit(self.why) or (limit_from(last) if is_notice(last) else None)

    @property
    def text(self) -> str:
        """The agent's final text as it is kept."""
        return bounded(self.said)

    @property
    def last_noise(self) -> str:
        """The last line that is no event, such as a crash prints."""
        return self._noise.last()

    def add_tokens(self, usage: Mapping[str, Any], into: str, out: str) -> None:
        """Adds one turn's or step's own tokens, by the names that they have there."""
        self.tokens_in = total(self.tokens_in, count(usage, into))
        self.tokens_out = total(self.tokens_out, count(usage, out))
