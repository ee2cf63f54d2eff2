"""The agents' queues in the order of service, kept up to date by what changed."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from batchdeck.core.difference import changed_turns
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.view import DeckView

_Key = tuple[int, int, int]


class Queues:
    """Who waits, per agent; a newer view costs what changed in it."""

    def __init__(self) -> None:
        self.view = DeckView()
        self._by_agent: dict[str, list[_Key]] = {}

    def update(self, view: DeckView) -> None:
        """Takes a newer view over."""
        before, self.view = self.view, view
        if not before.turns:
            self._build()
            return
        for turn_id in changed_turns(before, view):
            self._drop(before.turns.get(turn_id))
            self._put(view.turns.get(turn_id))

    def place(self, turn: Turn) -> int:
        """1-based place of a queued turn among its agent's queued turns."""
        return 1 + bisect_left(self._by_agent.get(turn.agent, ()), turn.service_key)

    def in_order(self, wanted: Callable[[str], bool] = lambda agent: True) -> Iterator[int]:
        """Ids of the queued turns of the agents that are wanted, in the order of service."""
        queues = [keys for agent, keys in self._by_agent.items() if wanted(agent)]
        return (key[2] for key in heapq.merge(*queues))

    def _build(self) -> None:
        """All at once: sorting is quicker than putting in one by one."""
        for turn in self.view.turns.values():
            if turn.state is TurnState.QUEUED:
                self._by_agent.setdefault(turn.agent, []).append(turn.service_key)
        for keys in self._by_agent.values():
            keys.sort()

    def _drop(self, turn: Turn | None) -> None:
        if turn is None or turn.state is not TurnState.QUEUED:
            return
        keys = self._by_agent[turn.agent]
        del keys[bisect_left(keys, turn.service_key)]

    def _put(self, turn: Turn | None) -> None:
        if turn is not None and turn.state is TurnState.QUEUED:
            insort(self._by_agent.setdefault(turn.agent, []), turn.service_key)
