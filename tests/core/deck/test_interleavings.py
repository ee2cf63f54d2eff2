"""Two clients, three deeds each, in every order: each acts on what it saw before the other did.

All pairs of three of the five kinds of deeds, in all twenty orders, each alone in its transaction
or three together: 4,000 schedules `--at-length`, else every second one. The model is told of each
step; what is left in the end is worked off, so that nothing is stranded and no end comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import pytest

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.commands import AddBatch, OnBusy, ReleaseHold, Send, SetLimit, StopTurn
from batchdeck.core.model.gate import GateName
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.consequences import message_turn, would_wait
from batchdeck.core.store.changes import GuardRefused
from tests.core.deck.model import Model
from tests.core.deck.telling import compare, tell
from tests.core.deck.writer import Writer
from tests.support.builders import batch_spec, demo_agent, folder
from tests.support.length import so_many

DEEDS = ("claim", "cancel", "limit", "finish", "force")
PROGRAMS = tuple(combinations(DEEDS, 3))
ORDERS = tuple(frozenset(first) for first in combinations(range(6), 3))
"""At which of the six steps the first client acts."""
DELIVERY = "d1"
PATHS = ("/w", "/w/x")
MOST_STEPS = 30


@cache
def beginning() -> Writer:
    """T1 and T3 at work, T2 behind the agent of T1, T4 behind the folder of T3."""
    writer = Writer({path: folder(path) for path in PATHS})
    tasks = [
        TaskSpec("T1", "a"),
        TaskSpec("T2", "a"),
        TaskSpec("T3", "b", folder="/w"),
        TaskSpec("T4", "c", folder="/w/x"),
    ]
    agents = [demo_agent("a", 1), demo_agent("b", 1), demo_agent("c", 1)]
    spec = batch_spec("b1", tasks, agents)
    assert writer.command(AddBatch(spec=spec), places=writer.places, known={}) is not None
    assert writer.command(SetLimit(name="global", value=2)) is not None
    return writer


@dataclass
class Seen:
    """What a client saw when it last looked."""

    open: tuple[int, ...]
    live: tuple[tuple[int, str], ...]
    """Turns at work and their attempts."""
    shut: frozenset[GateName]
    """What stands in the way of a message to b."""
    delivered: bool


class Client:
    """Does its deeds one by one, each by what it saw after the one before."""

    def __init__(self, writer: Writer, deeds: tuple[str, ...], *, first: bool) -> None:
        self._writer = writer
        self._deeds = iter(deeds)
        self._first = first
        self.seen = self._look()

    def next_deed(self) -> Callable[[], None]:
        deed: Callable[[], None] = getattr(self, f"_{next(self._deeds)}")
        return deed

    def look(self) -> None:
        self.seen = self._look()

    def _look(self) -> Seen:
        state = self._writer.state
        now = self._writer.now_ms
        view = state.snapshot(now)
        stored = self._writer.raw.execute("SELECT 1 FROM receipts").fetchone()
        return Seen(
            open=tuple(turn.id for turn in state.turns.values() if turn.ended_ms is None),
            live=tuple((turn, state.turns[turn].attempt or "") for turn in sorted(state.live)),
            shut=frozenset(g.name for g in would_wait(view, message_turn(view, "b"), now).gates),
            delivered=stored is not None,
        )

    def _claim(self) -> None:
        """The same delivery from both."""
        earlier = None
        if self.seen.delivered:
            number = self._writer.raw.execute("SELECT turn FROM receipts").fetchone()[0]
            earlier = self._writer.state.turns[number]
        command = Send(to="a", text="go on", on_busy=OnBusy.QUEUE, delivery_id=DELIVERY)
        self._writer.command(command, folder=None, earlier=earlier)

    def _cancel(self) -> None:
        chosen = self.seen.open[0 if self._first else -1]
        self._writer.command(StopTurn(turn=chosen, by="op"))

    def _limit(self) -> None:
        name, value = ("global", 1) if self._first else ("agent:a", 2)
        self._writer.command(SetLimit(name=name, value=value))

    def _finish(self) -> None:
        """The same attempt, of which each tells another end."""
        if self.seen.live:
            turn, attempt = self.seen.live[0]
            good = TurnState.SUCCEEDED if self._first else TurnState.FAILED
            self._writer.end(turn, Outcome(good), attempt)

    def _force(self) -> None:
        command = Send(to="b", text="now", on_busy=OnBusy.FORCE, passing=self.seen.shut)
        receipt = self._writer.command(command, folder=None, earlier=None)
        if receipt is not None:
            assert {GateName(one) for one in receipt.bypassed} <= self.seen.shut


class Watched:
    """A deck with the model beside it."""

    def __init__(self) -> None:
        self.writer = beginning().copy()
        self.model = Model(tasks={f"b1/T{n}" for n in range(1, 5)})
        self._learn_limits()
        tell(self.model, self.writer.state, beginning().events)

    def _learn_limits(self) -> None:
        limits = self.writer.state.limits.values()
        self.model.limits = {limit.name: limit.value for limit in limits}

    def after(self, deeds: list[Callable[[], None]]) -> None:
        """Does some deeds in one transaction, or, where the guard refuses that, one by one."""
        told = len(self.writer.events)
        try:
            self.writer.one_round(deeds)
        except GuardRefused:
            assert len(deeds) > 1
            for deed in deeds:
                self.after([deed])
            return
        self._learn_limits()
        tell(self.model, self.writer.state, self.writer.events[told:])

    def check(self) -> None:
        self.writer.check()
        compare(self.model, self.writer.state)

    def work_off(self) -> None:
        """Lets everything come to its end, what was held included."""
        self.after([lambda: self._set_wide("global"), lambda: self._set_wide("agent:a")])
        for _ in range(MOST_STEPS):
            held = [t for t in self.writer.state.turns.values() if t.held_by and not t.ended_ms]
            if held:
                what = f"turn:{held[0].id}"
                self.after([lambda what=what: self._release(what)])
            elif self.writer.state.live:
                turn = min(self.writer.state.live)
                self.after([lambda turn=turn: self.writer.end(turn, Outcome(TurnState.SUCCEEDED))])
            else:
                break
        left = [turn for turn in self.writer.state.turns.values() if turn.ended_ms is None]
        assert left == [], "what waits must come to its end"

    def _set_wide(self, name: str) -> None:
        self.writer.command(SetLimit(name=name, value=4))

    def _release(self, what: str) -> None:
        assert self.writer.command(ReleaseHold(what=what, by="op"), folder=None) is not None


def orders_of(first: tuple[str, ...], second: tuple[str, ...]) -> Iterator[tuple[Watched, list]]:
    for acts in ORDERS[:: so_many(2, 1)]:
        deck = Watched()
        one = Client(deck.writer, first, first=True)
        other = Client(deck.writer, second, first=False)
        yield deck, [one if step in acts else other for step in range(6)]


@pytest.mark.parametrize("together", [1, 3], ids=["each alone", "three to a transaction"])
@pytest.mark.parametrize("first", PROGRAMS, ids=" ".join)
def test_whatever_the_order_every_promise_is_kept(first: tuple[str, ...], together: int) -> None:
    for second in PROGRAMS:
        for deck, clients in orders_of(first, second):
            for step in range(0, 6, together):
                acting = clients[step : step + together]
                deck.after([client.next_deed() for client in acting])
                deck.check()
                for client in acting:
                    client.look()
            deck.work_off()
            deck.check()
            state = deck.writer.state
            deliveries = deck.writer.raw.execute("SELECT count(*) FROM receipts").fetchone()[0]
            assert deliveries == int("claim" in (*first, *second))
            done = [task for task in state.tasks.values() if task.turn is not None]
            assert len(done) == 4
