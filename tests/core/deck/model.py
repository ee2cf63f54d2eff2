"""What must hold of a deck whatever is done to it, kept by hand and knowing nothing of the engine.

It is told what was acknowledged (tasks, limits, claims, ends), and says what it thinks of the rest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Running:
    """A turn at work, as the model knows it."""

    agent: str
    batch: str | None
    folder: str | None
    conversation: int
    target: str | None
    forced: tuple[str, ...]


@dataclass
class Model:
    """The deck as its users were told that it is."""

    tasks: set[str] = field(default_factory=set)
    limits: dict[str, int | None] = field(default_factory=dict)
    running: dict[int, Running] = field(default_factory=dict)
    asking: dict[int, Running] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)
    attempts: set[str] = field(default_factory=set)
    places: dict[int, int] = field(default_factory=dict)

    def queue(self, turn: int, position: int) -> None:
        """A turn's place is given once (I15)."""
        assert self.places.setdefault(turn, position) == position, f"#{turn} has moved"

    def claim(self, turn: int, attempt: str, at_work: Running) -> None:
        assert turn not in self.ended, f"#{turn} had ended (I10)"
        assert turn not in self.running, f"#{turn} ran already (I3)"
        assert attempt not in self.attempts, "an attempt was made twice (I3)"
        self.attempts.add(attempt)
        self._check_room(at_work)
        for other in (*self.running.values(), *self.asking.values()):
            assert other.conversation != at_work.conversation, "two of one conversation (I4)"
            assert at_work.target is None or other.target != at_work.target, "two of one target"
            assert not overlap(other.folder, at_work.folder), "two in one place (I7)"
        self.running[turn] = at_work

    def _check_room(self, at_work: Running) -> None:
        """I5: at a claim what runs unforced is below every limit; none passes a closed one."""
        live = Counter[str]()
        for other in self.running.values():
            live.update(names(other))
        for name in names(at_work):
            limit = self.limits.get(name)
            if limit is None:
                continue
            assert limit > 0, f"{name} was closed"
            if name.partition(":")[0] not in at_work.forced:
                assert live[name] < limit, f"{name}: {live[name]} ran and {limit} may"

    def ask(self, turn: int) -> None:
        self.asking[turn] = self.running.pop(turn)

    def put_back(self, turn: int) -> None:
        del self.running[turn]

    def end(self, turn: int, state: str) -> None:
        """Ends are final (I10)."""
        assert turn not in self.ended, f"#{turn} ended twice"
        self.running.pop(turn, None)
        self.asking.pop(turn, None)
        self.ended[turn] = state

    def conserved(self, tasks: set[str], live: set[int], ended: dict[int, str]) -> None:
        """I1: all that was acknowledged is there, and nothing else runs."""
        assert tasks == self.tasks
        assert live == set(self.running)
        assert ended == self.ended


def names(at_work: Running) -> list[str]:
    named = ["global", f"agent:{at_work.agent}"]
    return named if at_work.batch is None else [*named, f"batch:{at_work.batch}"]


def overlap(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
