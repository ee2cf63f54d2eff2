"""The items of one foreach as the writer keeps them: who is at work, who is next."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from batchdeck.core.model.foreach import Foreach
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import DECIDES_TASK, ENDED, Turn, TurnState
from batchdeck.core.rules.barrier import Patch
from batchdeck.core.rules.items import (
    OUTSTANDING,
    Candidate,
    Stage,
    begins,
    candidate,
    may_be_chosen,
    stage_of,
)
from batchdeck.core.view import ItemsStanding

_changes = count(1)


@dataclass(slots=True)
class Left:
    """What the steps of an unfinished item left so far."""

    kept: dict[str, Any] = field(default_factory=dict)
    patches: list[Patch] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NextWords:
    """What the next step of an item is given, filled in."""

    prompt: str
    title: str
    target: str | None
    folder: str | None
    conversation: str | None


class Items:
    """Every change is a few steps of a heap, at the last of many items as at the first."""

    def __init__(self, plan: Foreach) -> None:
        self.plan = plan
        self.left: dict[int, Left] = {}
        """By task, for items that have begun and are not done."""
        self.next_words: dict[int, NextWords] = {}
        """By task, between the end of a step and the beginning of the next, in one round."""
        self.changes = next(_changes)
        """Another number after every change of an item: what was judged before it is void."""
        self.barrier: int | None = None
        """The task that stands for the barrier."""
        self._stages: dict[int, Stage] = {}
        self._counts: dict[Stage, int] = dict.fromkeys(Stage, 0)
        self._open: dict[int, Turn] = {}
        self._candidates: dict[int, Candidate] = {}
        """By turn: what could be put to work if there were room."""
        self._turn_of: dict[int, int] = {}
        self._heap: list[Candidate] = []
        self._chosen: dict[int, Candidate] = {}
        self._highest: Candidate | None = None
        self._misplaced = False
        self._beginning = 0
        """Chosen ones that have not begun."""
        self._in_line: dict[int, Turn] = {}
        """By task: queued turns of items at work."""
        self._let_in: dict[int, Candidate] = {}
        """By turn: those that others at work wait behind, and that were not chosen."""
        self._standing: ItemsStanding | None = None

    # -- news of rows

    def note_turn(self, turn: Turn, task: Task) -> None:
        """Takes in a turn of an item."""
        if turn.trigger not in DECIDES_TASK:
            return
        if turn.state not in ENDED:
            self._open[task.id] = turn
        elif (known := self._open.get(task.id)) is not None and known.id == turn.id:
            del self._open[task.id]
        else:
            return
        self.note_task(task)

    def note_task(self, task: Task) -> None:
        """Takes in an item's row."""
        turn = self._open.get(task.id)
        stage = stage_of(task, turn)
        before = self._stages.get(task.id)
        if before is not stage:
            if before is not None:
                self._counts[before] -= 1
            self._counts[stage] += 1
            self._stages[task.id] = stage
        if stage is Stage.ACTIVE and turn is not None and turn.state is TurnState.QUEUED:
            self._in_line[task.id] = turn
        else:
            self._in_line.pop(task.id, None)
        self.changes = next(_changes)
        self._standing = None
        assert task.index is not None
        wanted = None
        if turn is not None and may_be_chosen(stage, turn):
            wanted = candidate(stage, task.index, turn.id)
        self._put_candidate(task.id, wanted)

    def _put_candidate(self, task: int, wanted: Candidate | None) -> None:
        turn = self._turn_of.get(task)
        if turn is not None:
            if self._candidates[turn] == wanted:
                return
            del self._candidates[turn]
            del self._turn_of[task]
            self._let_in.pop(turn, None)
            self._drop(turn)
        if wanted is not None:
            self._candidates[wanted[2]] = wanted
            self._turn_of[task] = wanted[2]
            heapq.heappush(self._heap, wanted)
            if self._highest is not None and wanted < self._highest:
                self._misplaced = True

    def _drop(self, turn: int) -> Candidate | None:
        dropped = self._chosen.pop(turn, None)
        if dropped is not None:
            self._beginning -= begins(dropped)
            if not self._chosen:
                self._highest = None
        return dropped

    # -- choosing

    def choose(
        self, max_active: int | None, max_outstanding: int | None, *, closed: bool = False
    ) -> tuple[list[int], list[int]]:
        """Chooses who may be at work now; the turns that became free to start, and no longer are.

        The choice is that of `rules.items.chosen`, in steps instead of anew.
        """
        active = self._counts[Stage.ACTIVE]
        outstanding = self.outstanding
        anew = self._misplaced or closed
        anew = anew or self._over(active, outstanding, max_active, max_outstanding)
        before = set(self._chosen) if anew else None
        left: list[int] = []
        if before is not None:
            for turn in list(self._chosen):
                self._put_back(turn)
            self._misplaced = False
        entered: list[int] = []
        while not closed and (best := self._best()) is not None:
            if max_active is not None and active + len(self._chosen) >= max_active:
                break
            taken = outstanding + self._beginning
            if begins(best) and max_outstanding is not None and taken >= max_outstanding:
                break
            heapq.heappop(self._heap)
            self._chosen[best[2]] = self._highest = best
            self._beginning += begins(best)
            entered.append(best[2])
        if before is not None:
            left = [turn for turn in before if turn not in self._chosen]
            entered = [turn for turn in entered if turn not in before]
        self._stand(active, outstanding, max_active, max_outstanding, closed)
        return entered, left

    def let_in(self, before_others: Collection[int]) -> tuple[list[int], list[int]]:
        """Lets those in that others at work wait behind; the turns that became free to start, and
        no longer are.

        To be called after `choose`; `before_others` are turns of any batch.
        """
        if not before_others and not self._let_in:
            return [], []
        wanted = {
            turn: self._candidates[turn]
            for turn in before_others
            if turn in self._candidates and turn not in self._chosen
        }
        known = self.standing
        before, self._let_in = self._let_in, wanted
        limits = (known.max_active, known.max_outstanding)
        self._stand(self._counts[Stage.ACTIVE], self.outstanding, *limits, known.closed)
        left = [turn for turn in before if turn not in wanted and turn not in self._chosen]
        return [turn for turn in wanted if turn not in before], left

    def _over(
        self, active: int, outstanding: int, max_active: int | None, max_outstanding: int | None
    ) -> bool:
        if max_active is not None and active + len(self._chosen) > max_active:
            return True
        taken = outstanding + self._beginning
        return bool(self._beginning) and max_outstanding is not None and taken > max_outstanding

    def _put_back(self, turn: int) -> None:
        dropped = self._drop(turn)
        if dropped is not None:
            heapq.heappush(self._heap, dropped)

    def _best(self) -> Candidate | None:
        while self._heap:
            best = self._heap[0]
            if self._candidates.get(best[2]) == best and best[2] not in self._chosen:
                return best
            heapq.heappop(self._heap)
        return None

    def _stand(
        self,
        active: int,
        outstanding: int,
        max_active: int | None,
        max_outstanding: int | None,
        closed: bool,
    ) -> None:
        known = self._standing
        free = len(self._chosen) + len(self._let_in)
        if (
            known is not None
            and len(known.chosen) == free
            and (known.max_active, known.max_outstanding) == (max_active, max_outstanding)
            and known.closed == closed
            and known.chosen == self._chosen.keys() | self._let_in.keys()
        ):
            return
        self._standing = ItemsStanding(
            active=active + free,
            outstanding=outstanding + self._beginning + sum(map(begins, self._let_in.values())),
            max_active=max_active,
            max_outstanding=max_outstanding,
            chosen=frozenset((*self._chosen, *self._let_in)),
            queued=len(self._candidates),
            closed=closed,
        )

    # -- questions

    def in_line(self, turns: Mapping[int, Turn]) -> list[Turn]:
        """The queued turns of items that are at work, or may be."""
        return [*self._in_line.values(), *(turns[turn] for turn in self._chosen)]

    @property
    def standing(self) -> ItemsStanding:
        """How it stands, for views; made anew by `choose`."""
        if self._standing is None:
            active, outstanding = self._counts[Stage.ACTIVE], self.outstanding
            self._stand(active, outstanding, None, None, closed=False)
        assert self._standing is not None
        return self._standing

    @property
    def outstanding(self) -> int:
        return sum(self._counts[stage] for stage in OUTSTANDING)

    @property
    def has_begun(self) -> bool:
        """Some item is not as its file brought it any more."""
        unbegun = self._counts[Stage.UNBEGUN] + self._counts[Stage.IDLE]
        return unbegun != len(self._stages)

    @property
    def over(self) -> bool:
        """Every item has come to its end."""
        return self._counts[Stage.OVER] == len(self._stages)

    def admits(self, turn: Turn) -> bool:
        """Whether a turn of the batch is free to start, as far as items go."""
        return turn.id not in self._candidates or turn.id in self._chosen or turn.id in self._let_in

    def of(self, task: int) -> Left:
        """What an item's steps left, to be read or added to."""
        return self.left.setdefault(task, Left())

    def forget(self, task: int) -> None:
        """An item is done: nobody in this process will ask what it left."""
        self.left.pop(task, None)


def restore(items: Items, rows: Iterable[tuple[int, int, int, str, str, str | None, Any]]) -> None:
    """Puts back what unfinished items left: `(task, index, step, kind, name, reducer, value)`."""
    for task, index, step, kind, name, reducer, value in rows:
        if kind == "keep":
            items.of(task).kept[name] = value
        else:
            items.of(task).patches.append(Patch(index, step, name, value, reducer))
