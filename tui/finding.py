"""A text that is looked for in a log."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from batchdeck.tui.ansi import plain_text


class Needle:
    """Case does not matter, unless the text has a capital letter."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._exact = text != text.lower()

    def __bool__(self) -> bool:
        return bool(self.text)

    def is_in(self, line: str) -> bool:
        return bool(self.text) and self.text in self._folded(plain_text(line))

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where it stands in a line, in cells."""
        shown = plain_text(line)
        folded, found, at = self._folded(shown), [], 0
        while self.text and (at := folded.find(self.text, at)) >= 0:
            end = at + len(self.text)
            found.append((cell_len(shown[:at]), cell_len(shown[:end])))
            at = end
        return found

    def next_in(self, lines: Sequence[str], start: int, step: int) -> int | None:
        """The next line with it from `start` on, going round at the end."""
        count = len(lines)
        for distance in range(count):
            index = (start + step * distance) % count
            if self.is_in(lines[index]):
                return index
        return None

    def _folded(self, text: str) -> str:
        return text if self._exact else text.lower()
