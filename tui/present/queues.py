"""The agents' queues in the order of service, kept up to date by what changed."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from batchdeck.core.difference import changed_turns
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.order import ServiceKey
from batchdeck.core.view import DeckView
from batchdeck.tui.present.behind import Behind


class Queues:
    """Who waits, per agent; a newer view costs what changed in it."""

    def __init__(self) -> None:
        self.view = DeckView()
        self._behind = Behind()
        self._key_of: dict[int, ServiceKey] = {}
        self._by_agent: dict[str, list[ServiceKey]] = {}

    def update(self, view: DeckView) -> None:
        """Takes a newer view over."""
        before, self.view = self.view, view
        changed = changed_turns(before, view)
        changed |= self._behind.update(before, view, changed)
        if not before.turns:
            self._build()
            return
        for turn_id in changed:
            self._drop(before.turns.get(turn_id))
            self._put(view.turns.get(turn_id))

    def place(self, turn: Turn) -> int:
        """1-based place of a queued turn among its agent's queued turns."""
        return 1 + bisect_left(self._by_agent.get(turn.agent, ()), self._behind.key_of(turn))

    def in_order(self, wanted: Callable[[str], bool] = lambda agent: True) -> Iterator[int]:
        """Ids of the queued turns of the agents that are wanted, in the order of service."""
        queues = [keys for agent, keys in self._by_agent.items() if wanted(agent)]
        return (key[-1] for key in heapq.merge(*queues))

    def _build(self) -> None:
        """All at once: sorting is quicker than putting in one by one."""
        for turn in self.view.turns.values():
            if turn.state is TurnState.QUEUED:
                key = self._key_of[turn.id] = self._behind.key_of(turn)
                self._by_agent.setdefault(turn.agent, []).append(key)
        for keys in self._by_agent.values():
            keys.sort()

    def _drop(self, turn: Turn | None) -> None:
        """`turn`: as it was, for it may have been somebody else's."""
        if turn is not None and (key := self._key_of.pop(turn.id, None)) is not None:
            keys = self._by_agent[turn.agent]
            del keys[bisect_left(keys, key)]

    def _put(self, turn: Turn | None) -> None:
        if turn is not None and turn.state is TurnState.QUEUED:
            key = self._key_of[turn.id] = self._behind.key_of(turn)
            insort(self._by_agent.setdefault(turn.agent, []), key)
