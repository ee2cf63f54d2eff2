"""What stands at one moment, really or in a plan: who runs, and how many under each limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from batchdeck.core.model.account import account_of
from batchdeck.core.model.limit import (
    GLOBAL,
    agent_limit,
    batch_limit,
    items_limit,
    outstanding_limit,
    status_limit,
)
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.folders import overlaps
from batchdeck.core.rules.items import (
    OUTSTANDING,
    Candidate,
    Stage,
    begins,
    candidate,
    chosen,
    in_the_way,
    may_be_chosen,
    stage_of,
)
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.rules.quiescing import quiesced
from batchdeck.core.view import DeckView, ItemsStanding


def limit_names(turn: Turn) -> tuple[str, ...]:
    """The limits that a turn counts under, narrowest first."""
    return _limit_names(turn.agent, turn.batch, turn.lane)


@lru_cache(maxsize=4096)
def _limit_names(agent: str, batch: str | None, lane: Status | None) -> tuple[str, ...]:
    names = [agent_limit(agent)]
    if batch is not None and lane is not None:
        names.append(status_limit(batch, lane))
    if batch is not None:
        names.append(batch_limit(batch))
    return (*names, GLOBAL)


class Standing:
    """A view's running turns and counts, to which a plan adds the turns it would start."""

    def __init__(self, view: DeckView) -> None:
        self.view = view
        self.running_by = dict(view.running_by)
        self.live = [view.turns[turn] for turn in view.live]
        self._started: set[str] = set()
        self._items: dict[str, ItemsStanding] = {}
        self._quiesced: frozenset[str] | None = None
        self._waiting = [
            turn for id in view.waiting_turns if (turn := view.turns[id]).folder is not None
        ]

    def start(self, turn: Turn) -> None:
        """Counts `turn` as running."""
        self.live.append(turn)
        if self.view.cooldowns and (agent := self.view.agents.get(turn.agent)) is not None:
            self._started.add(account_of(agent))
        for name in limit_names(turn):
            self.running_by[name] = self.running_by.get(name, 0) + 1

    def started(self, account: str) -> bool:
        """Whether a turn of an account would start by this plan."""
        return account in self._started

    def used(self, name: str) -> int:
        return self.running_by.get(name, 0)

    def full(self, name: str) -> bool:
        """Whether nothing more may start under a limit."""
        limit = effective_limit(self.view, name)
        return limit is not None and self.used(name) >= limit

    @property
    def quiesced(self) -> frozenset[str]:
        """The batches that wait for a person."""
        if self._quiesced is None:
            view = self.view
            self._quiesced = quiesced(view.asks.values(), view.turns, view.batches)
        return self._quiesced

    def items(self, batch: str) -> ItemsStanding:
        """How the items of a foreach stand: as the writer chose, or as they would be chosen."""
        found = self._items.get(batch)
        if found is None:
            found = self._items[batch] = self._choose(batch)
        return found

    def _choose(self, batch: str) -> ItemsStanding:
        view, items = self.view, self.view.items[batch]
        active = effective_limit(view, items_limit(batch))
        outstanding = effective_limit(view, outstanding_limit(batch))
        if items.closed or (active, outstanding) == (items.max_active, items.max_outstanding):
            return items
        stages: Counter[Stage] = Counter()
        candidates: list[Candidate] = []
        in_line: list[Turn] = []
        for task in view.tasks.values():
            if task.batch != batch or task.index is None:
                continue
            turn = None if task.turn is None else view.turns.get(task.turn)
            stage = stage_of(task, turn)
            stages[stage] += 1
            if turn is not None and may_be_chosen(stage, turn):
                candidates.append(candidate(stage, task.index, turn.id))
            elif stage is Stage.ACTIVE and turn is not None and turn.state is TurnState.QUEUED:
                in_line.append(turn)
        at_work, begun = stages[Stage.ACTIVE], sum(stages[stage] for stage in OUTSTANDING)
        candidates.sort()
        found = list(chosen(candidates, at_work, begun, active, outstanding))
        in_line += [view.turns[turn] for _, _, turn in found]
        in_front = in_the_way(in_line, self._first_of)
        found += [one for one in candidates if one[2] in in_front and one not in found]
        return replace(
            items,
            active=at_work + len(found),
            outstanding=begun + sum(map(begins, found)),
            max_active=active,
            max_outstanding=outstanding,
            chosen=frozenset(turn for _, _, turn in found),
        )

    def _first_of(self, line: str) -> Turn | None:
        members = self.view.in_order.get(line)
        return self.view.turns[members[0]] if members else None

    def under(self, name: str) -> Iterator[Turn]:
        """The running turns that count under a limit."""
        return (turn for turn in self.live if name in limit_names(turn))

    def in_folder_of(self, turn: Turn) -> Iterator[Turn]:
        """The running and waiting turns whose folder is the turn's, contains it or lies in it."""
        folder = turn.folder
        if folder is None:
            return iter(())
        return (
            other
            for other in (*self.live, *self._waiting)
            if other.folder is not None and other.id != turn.id and overlaps(folder, other.folder)
        )
