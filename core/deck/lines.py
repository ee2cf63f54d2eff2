"""The lines of a deck: turns that have not ended, per target and conversation, in their order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from batchdeck.core.model.line import lines_of
from batchdeck.core.model.turn import Turn


class Lines:
    """Kept as turns come, begin and end.

    Args:
        turns: The deck's turns by id, as they are now.
    """

    def __init__(self, turns: Mapping[int, Turn]) -> None:
        self._turns = turns
        self._members: dict[str, list[int]] = {}
        self._occupied: dict[str, int] = {}
        """Lines of which a turn runs or waits, with how many do (one, or by force of a fault)."""
        self._contended: dict[str, tuple[int, ...]] = {}
        self._unsettled: set[str] = set()
        """Those that changed since `contended` was made."""

    # -- changes

    def enter(self, turn: Turn) -> None:
        """A turn comes, at its position."""
        for line in lines_of(turn):
            members = self._members.setdefault(line, [])
            key = (turn.position, turn.id)
            if members and self._order_of(members[-1]) > key:
                members.insert(bisect_left(members, key, key=self._order_of), turn.id)
            else:
                members.append(turn.id)
            if len(members) > 1:
                self._unsettled.add(line)

    def leave(self, turn: Turn) -> None:
        """A turn has ended, or goes into other lines."""
        for line in lines_of(turn):
            members = self._members.get(line)
            if members is None:
                continue
            if turn.id in members:
                members.remove(turn.id)
            if members or line in self._contended:
                self._unsettled.add(line)
            if not members:
                del self._members[line]

    def occupy(self, turn: Turn, step: int) -> None:
        """A turn has begun (1), or does not run or wait any more (-1)."""
        for line in lines_of(turn):
            self._occupied[line] = self._occupied.get(line, 0) + step
            if not self._occupied[line]:
                del self._occupied[line]

    def resort(self, turn: Turn) -> None:
        """A turn got another position."""
        for line in lines_of(turn):
            members = self._members.get(line)
            if members is not None and len(members) > 1:
                members.sort(key=self._order_of)
                self._unsettled.add(line)

    def _order_of(self, turn: int) -> tuple[int, int]:
        return self._turns[turn].position, turn

    # -- questions

    @property
    def contended(self) -> dict[str, tuple[int, ...]]:
        """Lines with more than one turn, for views.

        Of those with thousands of turns the tuple is made when somebody looks.
        """
        for line in self._unsettled:
            members = self._members.get(line, ())
            if len(members) > 1:
                self._contended[line] = tuple(members)
            else:
                self._contended.pop(line, None)
        self._unsettled.clear()
        return self._contended

    def members(self, line: str) -> Sequence[int]:
        """The turns of a line."""
        return self._members.get(line, ())

    def first_of(self, line: str) -> Turn | None:
        """The turn that is first; None: there are no two."""
        members = self.members(line)
        return self._turns[members[0]] if len(members) > 1 else None

    def may_begin(self, turn: Turn) -> bool:
        """Whether no turn of a queued turn's lines is before it, or has begun."""
        return all(
            (members := self._members.get(line)) is None
            or (members[0] == turn.id and line not in self._occupied)
            for line in lines_of(turn)
        )

    def behind(self, turn: Turn) -> list[Turn]:
        """The turns that are now first where `turn` (which has ended) was."""
        heads = {members[0] for line in lines_of(turn) if (members := self._members.get(line))}
        return [self._turns[head] for head in sorted(heads)]
