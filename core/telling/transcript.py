"""An agent's raw output as lines that people read, one kind of event after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from batchdeck.core.foreign_json import read_event
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.telling.acp import Acp
from batchdeck.core.telling.chat import Chat
from batchdeck.core.telling.claude import Claude
from batchdeck.core.telling.codex import Codex
from batchdeck.core.telling.gemini import Gemini
from batchdeck.core.telling.opencode import OpenCode
from batchdeck.core.telling.said import Kind, Said, Teller
from batchdeck.core.text import clean_text, decode

LINE_CAP = 4 * 1024 * 1024
"""Bytes of one line of an output of events; beyond, it is no event any more."""
_TELLERS: dict[str, Callable[[], Teller]] = {
    "claude-stream-json": Claude,
    "codex-json": Codex,
    "gemini-stream-json": Gemini,
    "opencode-json": OpenCode,
}
_TELLERS_OF_KINDS: dict[AgentKind, Callable[[], Teller]] = {
    AgentKind.ACP: Acp,
    AgentKind.OPENAI: Chat,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of what was told. Raw ones are as they came, all others are clean."""

    kind: Kind
    words: str
    begins: bool = True
    """The first line of what it belongs to."""


def teller_of(agent: Agent | None) -> Teller | None:
    """Who understands an agent's output; None: it is text, or nothing that is known."""
    if agent is None:
        return None
    make = _TELLERS_OF_KINDS.get(agent.kind)
    if make is None and agent.kind is AgentKind.COMMAND:
        make = _TELLERS.get(agent.output)
    return None if make is None else make()


class Transcript:
    """Raw lines in, told lines out; never raises, whatever is in them."""

    def __init__(self, teller: Teller | None) -> None:
        self._teller = teller
        self._kind = Kind.RAW
        self._begun = False
        """Of what is at work a line has been told already."""
        self._rest = ""
        """The piece of a line that has no end yet."""

    @property
    def is_plain(self) -> bool:
        """Whether lines stay as they came."""
        return self._teller is None

    @property
    def unfinished(self) -> Line | None:
        """The line that still grows."""
        return Line(self._kind, self._rest, not self._begun) if self._rest else None

    def take(self, raw: bytes) -> list[Line]:
        """The lines that a raw line completes."""
        if self._teller is None:
            return [Line(Kind.RAW, decode(raw))]
        return [line for said in self._said(raw) for line in self._lines(said)]

    def flush(self) -> list[Line]:
        """The line that had no end, now that nothing follows."""
        ended = self.unfinished
        self._rest, self._begun = "", False
        return [] if ended is None else [ended]

    def _said(self, raw: bytes) -> Iterator[Said]:
        event = read_event(raw)
        told = None if event is None or self._teller is None else self._teller.told(event)
        if told is not None:
            yield from told
        elif raw.strip():
            yield Said(Kind.RAW, decode(raw))

    def _lines(self, said: Said) -> Iterator[Line]:
        if said.kind is Kind.RAW:
            yield from self.flush()
            yield Line(Kind.RAW, said.words)
            return
        if not (said.goes_on and said.kind is self._kind):
            yield from self.flush()
            self._kind = said.kind
        *whole, self._rest = (self._rest + clean_text(said.words)).split("\n")
        for words in whole:
            yield Line(said.kind, words, not self._begun)
            self._begun = True
        if not said.goes_on:
            yield from self.flush()


def told_lines(teller: Teller | None, raw: bytes) -> list[Line]:
    """What some whole raw lines tell, the unfinished included."""
    transcript = Transcript(teller)
    lines = [line for one in raw.split(b"\n") for line in transcript.take(one)]
    return lines + transcript.flush()
