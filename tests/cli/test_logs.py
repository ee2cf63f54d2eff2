"""What `logs` prints of an output that goes on, and of one that begins again."""

from __future__ import annotations

from batchdeck.core.port import OutputPage
from batchdeck.tui.cli import logs


class Claimed:
    """An output of which a first attempt writes, and then a second one."""

    def __init__(self) -> None:
        self.stages = [("a", b"old 1\nold 2"), ("b", b"new 1\n"), ("b", b"new 1\nnew 2\nnew 3\n")]

    def output(self, turn: int, start: int, limit: int) -> OutputPage:
        attempt, whole = self.stages[0]
        data = whole[start : start + limit]
        if not data and len(self.stages) > 1:
            self.stages.pop(0)
        return OutputPage(start, data, len(whole), len(self.stages) == 1, attempt)


def test_a_second_attempt_is_told_from_its_beginning() -> None:
    told = list(logs._output(Claimed(), 1, follow=True))  # type: ignore[arg-type]
    assert b"".join(line or b"---\n" for line in told).decode() == (
        "old 1\nold 2\n---\nnew 1\nnew 2\nnew 3\n"
    )
