"""Dispatches without a screen: lines for people, JSON lines for programs, an exit code for both."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import anyio
import click

from batchdeck.core.clock import SystemClock
from batchdeck.core.commands import Command, Drain, StopAll
from batchdeck.core.control.wire import receipt_document
from batchdeck.core.errors import Refused
from batchdeck.core.model.batch import BATCH_EXIT_CODES, BatchState
from batchdeck.core.model.event import Event
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.port import LiveDeck
from batchdeck.core.rules.plan import starts
from batchdeck.core.text import clean_line
from batchdeck.core.view import DeckView
from batchdeck.tui.cli.context import Context, Manner, Opening, print_json
from batchdeck.tui.cli.lines import LONGEST_WORDS, log_words, plain_words, standing_line
from batchdeck.tui.cli.progress import Progress, progress_for
from batchdeck.tui.cli.running import event_clock
from batchdeck.tui.cli.waiting import waits_for
from batchdeck.tui.present.by_then import ended_by_then
from batchdeck.tui.present.ended import EndedTasks

LOOKS_PER_SECOND = 20
"""How often what has happened meanwhile is printed."""


class _Run:
    """One headless run, from the first command to its exit code."""

    def __init__(
        self, deck: LiveDeck, progress: Progress, manner: Manner, *, no_input: bool
    ) -> None:
        self._deck = deck
        self._progress = progress
        self.manner = manner
        self._words = plain_words if manner.plain else log_words
        self._tasks = EndedTasks()
        self._no_input = no_input
        self._stuck = False
        self._waits_for = ""
        self._clock = SystemClock()
        self._events: list[Event] = []
        self._fault: str | None = None
        self._banner: str | None = None
        self._interrupts = 0
        self._arrived = anyio.Event()
        self.signal: int | None = None
        self.batches: set[str] = set()
        deck.listeners.append(self._listen)

    def _listen(self, events: Sequence[Event]) -> None:
        self._events.extend(events)
        self._arrived.set()

    async def watch_signals(self) -> None:
        """The first INT drains, the second stops; TERM, HUP and QUIT detach."""
        watched = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
        with anyio.open_signal_receiver(*watched) as received:
            async for number in received:
                if number is not signal.SIGINT:
                    self.signal = number
                    self._arrived.set()
                    return
                await self._interrupt()

    async def _interrupt(self) -> None:
        self.signal = signal.SIGINT
        self._interrupts += 1
        if self._interrupts == 1:
            self._say("draining: nothing new starts; once more stops what runs")
            await self._deck.submit(Drain())
        elif self._interrupts == 2:
            self._say("stopping what runs; the deck stays held until batchdeck release")
            await self._deck.submit(StopAll())
        self._arrived.set()

    def _say(self, words: str) -> None:
        self._progress.settle()
        click.echo(f"{event_clock()} {words}", err=True)

    async def to_the_end(self) -> int:
        """Prints what happens until nothing is left to do; returns the exit code."""
        while True:
            await self._print_events()
            view = self._deck.view
            self._tell_standing(view)
            if self._over(view):
                await self._print_events()
                return self._exit_code(view)
            with anyio.move_on_after(1.0):
                await self._arrived.wait()
                await anyio.sleep(1 / LOOKS_PER_SECOND)
            self._arrived = anyio.Event()

    def _tell_standing(self, view: DeckView) -> None:
        """A fault of the engine, and what every screen has on top, when it is new."""
        if view.fault != self._fault:
            self._say(view.fault or "all is well again")
            self._fault = view.fault
        if view.banner != self._banner:
            if view.banner:
                self._say(clean_line(view.banner, LONGEST_WORDS))
            self._banner = view.banner

    def _over(self, view: DeckView) -> bool:
        if self.signal not in (None, signal.SIGINT):
            return True
        if view.running:
            return False
        if view.broken:
            return True
        if self.signal is not None:
            return True
        if self.manner.stays:
            self._tell_what_it_waits_for(view)
            return False
        unfinished = any(view.batches[name].state is BatchState.RUNNING for name in self.batches)
        if unfinished and self._no_input and view.asks:
            return False  # they fail at any moment: nobody answers
        if unfinished and not self._no_input:
            self._tell_what_it_waits_for(view)
            return False
        self._stuck = unfinished
        return not self._could_start(view)

    def _tell_what_it_waits_for(self, view: DeckView) -> None:
        """Said once where nothing goes on by itself: a run that is merely silent looks hung."""
        if not self._could_start(view):
            self.tell_what_waits(view)

    def tell_what_waits(self, view: DeckView) -> None:
        """What a person must do before all that is unfinished can start, when that is news."""
        words = waits_for(view, self._clock.now_ms())
        if words != self._waits_for:
            self._waits_for = words
            if words:
                self._say(words)

    def _could_start(self, view: DeckView) -> bool:
        """Whether a queued message, or a retry that waits for its time, may still start."""
        now_ms = self._clock.now_ms()
        if starts(view, now_ms):
            return True
        queued = [turn for turn in view.turns.values() if turn.state is TurnState.QUEUED]
        if any(turn.not_before_ms > now_ms and turn.held_by is None for turn in queued):
            return True
        ready = replace(view, cooldowns={})  # an account that cools down ends that by itself
        return bool(view.cooldowns) and bool(starts(ready, now_ms))

    def _exit_code(self, view: DeckView) -> int:
        if self.signal is not None:
            return 128 + self.signal
        if view.broken:
            return 1
        if self._stuck:
            self.tell_what_waits(view)
            self._say("what is left is held or waits for a person, and --no-input was given")
            return Refused.exit_code
        ended = [view.batches[name] for name in self.batches]
        codes = {BATCH_EXIT_CODES.get(batch.state, 1) for batch in ended}
        for worst in (1, 5):
            if worst in codes:
                return worst
        return 0

    async def _print_events(self) -> None:
        events, self._events = self._events, []
        if self.manner.as_json:
            documents = [(await self._whole(event)).as_json() for event in events]
            self._progress.print([json.dumps(document, default=str) for document in documents])
            return
        view, clock = self._deck.view, event_clock()
        ended = ended_by_then(events, view, self._tasks)
        told = (self._words(event, ended.get(event.seq)) for event in events)
        lines = [clean_line(words, 300) for words in told if words]
        self._progress.print([f"{clock} {line}" for line in lines])
        self._progress.show(view, self.batches)

    async def _whole(self, event: Event) -> Event:
        """A finished batch's event with its results."""
        if event.kind != "batch.finished":
            return event
        return (await self._deck.events(after=event.seq - 1, limit=1))[0]


async def run_headless(
    context: Context, paths: DeckPaths, command: Command | None, opening: Opening, manner: Manner
) -> int:
    """Opens the deck, carries the command out, and dispatches to the end."""
    code: int | None = None
    async with AsyncExitStack() as stack:
        opening = replace(opening, admit=command is None)
        deck = await stack.enter_async_context(context.doors.open_deck(paths, opening))
        await stack.enter_async_context(context.doors.serve(deck, paths.socket))
        bar = stack.enter_context(progress_for(manner.as_json or manner.plain, context.environment))
        run = _Run(deck, bar, manner, no_input=opening.no_input)
        if manner.plain:
            click.echo(f"{event_clock()} {standing_line(deck.view)}")
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(run.watch_signals)
            code = await _first_command(deck, run, command)
            if code is None:
                code = await run.to_the_end()
            watchers.cancel_scope.cancel()
    return code or 0


async def _first_command(deck: LiveDeck, run: _Run, command: Command | None) -> int | None:
    """Carries out what the run is for; an exit code where that is already the end."""
    if command is None:
        return None
    receipt = await deck.submit(command)
    if not receipt.accepted:
        click.echo(receipt.message, err=True)
        if run.manner.as_json:
            print_json(receipt_document(receipt))
        return receipt.exit_code
    deck.admit()
    if receipt.batch is not None:
        run.batches = {receipt.batch}
        batch = deck.view.batches[receipt.batch]
        if batch.state is not BatchState.RUNNING:
            click.echo(receipt.message, err=True)
    else:
        click.echo(receipt.message, err=True)
        active = (b for b in deck.view.batches.values() if b.state is BatchState.RUNNING)
        run.batches = {batch.name for batch in active}
    if any(deck.view.batches[name].state is BatchState.RUNNING for name in run.batches):
        run.tell_what_waits(deck.view)  # also where other turns start, and may run for hours
    return None
