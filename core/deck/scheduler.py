"""Finds the next turn that may start, in memory, without ever looking at those that may not.

A *lane* here is a run of queued turns that share agent, batch, status lane and folder, so only its
head can be eligible. Every lane with turns stands in exactly one place: ready, or parked at one
thing that is full. A place that frees wakes its best lane, so priority stays exact and a blocked
turn never costs the others anything. The database re-checks each claim (`0001_deck.sql`, guard);
`rules.plan` is the oracle that the choice is tested against.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count

from batchdeck.core.model.folder import Folder
from batchdeck.core.model.limit import GLOBAL
from batchdeck.core.model.turn import Turn
from batchdeck.core.rules.standing import limit_names

_Key = tuple[int, int, int]


class Slot:
    """One limit: how many run under it, how many may, and the lanes that wait for it."""

    __slots__ = ("closed", "limit", "parked", "running")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.running = 0
        self.closed = False
        """Held: nothing is admitted whatever the number says."""
        self.parked: list[tuple[_Key, int, _Lane]] = []

    @property
    def full(self) -> bool:
        return self.closed or (self.limit is not None and self.running >= self.limit)


class _Lane:
    __slots__ = ("folder", "heap", "slots", "stamp")

    def __init__(self, slots: tuple[Slot, ...], folder: Folder | None) -> None:
        self.slots = slots
        self.folder = folder
        self.heap: list[_Key] = []
        self.stamp = 0
        """Only the entry with this stamp, wherever it lies, is this lane's place."""


class Scheduler:
    """Lanes, slots and occupied folders; every method is a few microseconds and never waits."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {GLOBAL: Slot(None)}
        self._global = self._slots[GLOBAL]
        self._lanes: dict[tuple[str | None, ...], _Lane] = {}
        self._lane_of: dict[int, _Lane] = {}
        self._ready: list[tuple[_Key, int, _Lane | None, Slot | None]] = []
        self._stamps = count(1)
        self._turns: dict[int, Turn] = {}
        self._occupied: dict[str, int] = {}
        self._above: dict[str, dict[str, None]] = {}
        self._closed: frozenset[str] = frozenset()
        self._held_folders: set[str] = set()
        self._at_folder: dict[str, list[tuple[int, _Lane]]] = {}

    # -- limits and holds

    def slot(self, name: str) -> Slot:
        """The slot of a limit, by its full name."""
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = Slot(None)
        return slot

    def set_limit(self, name: str, limit: int | None) -> None:
        """Changes a number; what runs goes on."""
        slot = self.slot(name)
        slot.limit = limit
        self._wake(slot)

    def close(self, names: frozenset[str]) -> None:
        """Holds what counts under these limits or works in these `folder:KEY`, and nothing else."""
        for name in names ^ self._closed:
            kind, _, key = name.partition(":")
            if kind == "folder":
                self._close_folder(key, name in names)
            else:
                self._close_slot(self.slot(name), name in names)
        self._closed = names

    def _close_slot(self, slot: Slot, closed: bool) -> None:
        slot.closed = closed
        self._wake(slot)

    def _close_folder(self, key: str, closed: bool) -> None:
        if closed:
            self._held_folders.add(key)
            return
        self._held_folders.discard(key)
        self._wake_folder(key)

    # -- queued turns

    def add(self, turn: Turn) -> None:
        """Takes in a queued turn for which only limits and folders can still be in the way."""
        if turn.id in self._lane_of:
            return
        lane = self._lane_for(turn)
        self._lane_of[turn.id] = lane
        self._turns[turn.id] = turn
        key = turn.service_key
        heapq.heappush(lane.heap, key)
        if lane.heap[0] == key:
            self._make_ready(lane)

    def renew(self, turn: Turn) -> None:
        """Takes a queued turn that it knows as it is now: none is handed out as it was before."""
        known = self._turns.get(turn.id)
        if known is None:
            return
        if self._lane_for(turn) is self._lane_of[turn.id] and turn.service_key == known.service_key:
            self._turns[turn.id] = turn
            return
        self.remove(turn.id)
        self.add(turn)

    def remove(self, turn: int) -> None:
        """Forgets a queued turn: it has been cancelled, held, edited, or waits for its order."""
        if self._lane_of.pop(turn, None) is not None:
            del self._turns[turn]

    def __contains__(self, turn: int) -> bool:
        return turn in self._lane_of

    @property
    def waiting(self) -> Iterable[Turn]:
        """The turns it knows, as it knows them (for the auditor)."""
        return self._turns.values()

    def _lane_for(self, turn: Turn) -> _Lane:
        folder = turn.folder
        key = (turn.agent, turn.batch, turn.lane, None if folder is None else folder.key)
        lane = self._lanes.get(key)
        if lane is None:
            slots = tuple(self.slot(name) for name in limit_names(turn))
            lane = self._lanes[key] = _Lane(slots, folder)
        return lane

    def _head(self, lane: _Lane) -> _Key | None:
        heap = lane.heap
        while heap:
            key = heap[0]
            turn = self._turns.get(key[2])
            if turn is not None and self._lane_of.get(key[2]) is lane and turn.service_key == key:
                return key
            heapq.heappop(heap)
        return None

    # -- choosing

    def next(self) -> Turn | None:
        """The turn to start now, with its slots and folder taken; None where nothing may."""
        while not self._global.full:
            best = self._best_lane()
            if best is None:
                return None
            lane, place = best
            key = self._head(lane)
            if key is None:
                continue
            if key > place:  # what stood there has been removed: compete again
                self._make_ready(lane)
                continue
            if self._parked(lane, key):
                continue
            heapq.heappop(lane.heap)
            turn = self._turns.pop(key[2])
            del self._lane_of[key[2]]
            self.take(turn)
            if self._head(lane) is not None:
                self._make_ready(lane)
            return turn
        return None

    def _best_lane(self) -> tuple[_Lane, _Key] | None:
        while self._ready:
            key, stamp, lane, slot = heapq.heappop(self._ready)
            if lane is not None:
                if stamp == lane.stamp:
                    return lane, key
                continue
            if slot is None or slot.full:
                continue
            lane = self._unpark(slot)
            self._wake(slot)
            if lane is not None:
                return lane, key
        return None

    def _unpark(self, slot: Slot) -> _Lane | None:
        while slot.parked:
            _, stamp, lane = heapq.heappop(slot.parked)
            if stamp == lane.stamp:
                return lane
        return None

    def _parked(self, lane: _Lane, key: _Key) -> bool:
        for slot in lane.slots:
            if slot.full:
                lane.stamp = next(self._stamps)
                heapq.heappush(slot.parked, (key, lane.stamp, lane))
                return True
        occupied = self._in_the_way(lane.folder)
        if occupied is None:
            return False
        lane.stamp = next(self._stamps)
        self._at_folder.setdefault(occupied, []).append((lane.stamp, lane))
        return True

    def _in_the_way(self, folder: Folder | None) -> str | None:
        """The key of an occupied or held folder that excludes `folder`."""
        if folder is None:
            return None
        for key in (folder.key, *folder.above):
            if key in self._occupied or key in self._held_folders:
                return key
        below = self._above.get(folder.key)
        return next(iter(below)) if below else None

    def _make_ready(self, lane: _Lane) -> None:
        head = self._head(lane)
        if head is not None:
            lane.stamp = next(self._stamps)
            heapq.heappush(self._ready, (head, lane.stamp, lane, None))

    def _wake(self, slot: Slot) -> None:
        """Lets the best lane parked at a slot with room compete for it."""
        if slot.full:
            return
        while slot.parked:
            key, stamp, lane = slot.parked[0]
            if stamp == lane.stamp:
                heapq.heappush(self._ready, (key, next(self._stamps), None, slot))
                return
            heapq.heappop(slot.parked)

    # -- running turns

    def take(self, turn: Turn) -> None:
        """Counts a turn as running: a claimed one, a forced one, one found after a restart."""
        for name in limit_names(turn):
            self.slot(name).running += 1
        self.occupy(turn)

    def release(self, turn: Turn) -> None:
        """Gives back what a running turn held."""
        self.release_slots(turn)
        self.vacate(turn)

    def release_slots(self, turn: Turn) -> None:
        """Gives back the slots, and keeps the folder: the turn waits for a person."""
        for name in limit_names(turn):
            slot = self.slot(name)
            slot.running -= 1
            self._wake(slot)

    def occupy(self, turn: Turn) -> None:
        """Takes the turn's folder."""
        folder = turn.folder
        if folder is None:
            return
        self._occupied[folder.key] = turn.id
        for key in folder.above:
            self._above.setdefault(key, {})[folder.key] = None

    def vacate(self, turn: Turn) -> None:
        """Gives the turn's folder back."""
        folder = turn.folder
        if folder is None or self._occupied.get(folder.key) != turn.id:
            return
        del self._occupied[folder.key]
        for key in folder.above:
            below = self._above.get(key)
            if below is not None:
                below.pop(folder.key, None)
                if not below:
                    del self._above[key]
        self._wake_folder(folder.key)

    def _wake_folder(self, key: str) -> None:
        for stamp, lane in self._at_folder.pop(key, ()):
            if stamp == lane.stamp:
                self._make_ready(lane)

    def closed(self) -> frozenset[str]:
        """What admits nothing, as the scheduler has it (for the auditor)."""
        slots = (name for name, slot in self._slots.items() if slot.closed)
        return frozenset((*slots, *(f"folder:{key}" for key in self._held_folders)))

    def taken(self) -> dict[str, int]:
        """How many slots of each limit are taken, as the scheduler has it (for the auditor)."""
        return {name: slot.running for name, slot in self._slots.items()}
