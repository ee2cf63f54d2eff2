"""Every kind of output there is, by the name that a batch file gives it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.claude import Claude
from batchdeck.core.agents.dialects.codex import Codex
from batchdeck.core.agents.dialects.dialect import Dialect
from batchdeck.core.agents.dialects.gemini import Gemini
from batchdeck.core.agents.dialects.names import OutputKind
from batchdeck.core.agents.dialects.opencode import OpenCode
from batchdeck.core.agents.dialects.plain import JsonLines, Text
from batchdeck.core.executors.holes import read_piece
from batchdeck.core.model.agent import Agent
from batchdeck.core.text import LineSplitter

LINE_CAP = 16 * 1024 * 1024
"""Bytes of one line that are read; stream JSON holds whole pictures."""

_AT_ONCE = 1 << 20

DIALECTS: dict[str, Callable[[Agent], Dialect]] = {
    OutputKind.TEXT: Text,
    OutputKind.JSON_LINES: JsonLines,
    OutputKind.CLAUDE: Claude,
    OutputKind.CODEX: Codex,
    OutputKind.GEMINI: Gemini,
    OutputKind.OPENCODE: OpenCode,
}


class Reading:
    """An agent's output as far as it has been read."""

    def __init__(self, agent: Agent, output: Path) -> None:
        """
        Raises:
            KeyError: nobody knows that kind of output; batch files are checked for that.
        """
        self.dialect = DIALECTS[agent.output](agent)
        self._output = output
        self.read_bytes = 0
        """How far it has been read, over the holes."""
        self._splitter = LineSplitter(LINE_CAP)

    def go_on(self) -> None:
        """Reads what has been written since, over the hole of an output beyond its cap.

        A missing file has nothing in it.
        """
        try:
            with open(self._output, "rb") as file:
                while True:
                    begin, piece = read_piece(file.fileno(), self.read_bytes, _AT_ONCE)
                    if not piece:
                        return
                    if begin > self.read_bytes:
                        self._take(self._splitter.feed(b"\n"))  # what a hole cuts is no one line
                    self.read_bytes = begin + len(piece)
                    self._take(self._splitter.feed(piece))
        except FileNotFoundError:
            return

    def outcome(self, code: int) -> Outcome:
        """What became of it, now that everything has been written."""
        self.go_on()
        self._take(self._splitter.flush())
        return self.dialect.outcome(code)

    def _take(self, lines: list[bytes]) -> None:
        for line in lines:
            self.dialect.take(line)
