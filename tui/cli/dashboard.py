"""Dispatches with the dashboard: the engine is opened around the app, signals are requests."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from shlex import quote

import anyio
import click
from anyio.abc import TaskStatus

from batchdeck.core.commands import Command, Receipt, StopAll
from batchdeck.core.model.agent import Agent
from batchdeck.core.paths import DeckPaths, find_deck
from batchdeck.core.port import Deck
from batchdeck.tui.app import DeckApp
from batchdeck.tui.cli.context import Context, Opening
from batchdeck.tui.cli.crashing import report_crash
from batchdeck.tui.cli.screen_check import user_themes
from batchdeck.tui.drafts import Drafts
from batchdeck.tui.leaving import How, Leave
from batchdeck.tui.present.parting import parting_lines
from batchdeck.tui.settings import Change, ScreenSettings, read_screen_settings

LEAVE_SECONDS = 3.0
"""A dashboard that was asked to leave is gone within this time."""
LET_GO_SECONDS = 1.0
"""How long leaving waits until the turn whose text was being edited is released."""
STOP_SECONDS = 15.0
"""How long *stop all* waits for what it stops: TERM, ten seconds, KILL."""


async def run_dashboard(
    context: Context, paths: DeckPaths, command: Command | None, opening: Opening
) -> int:
    """Opens the deck and its dashboard; returns the exit code."""
    settings = screen_settings(context)
    async with AsyncExitStack() as stack:
        opening = replace(opening, admit=command is None)
        deck = await stack.enter_async_context(context.doors.open_deck(paths, opening))
        await stack.enter_async_context(context.doors.serve(deck, paths.socket))
        gc.freeze()  # what was loaded is no garbage: looking through it would stall the screen
        seat = _Seat(_app_on(deck, settings, paths))
        await seat.sit(deck, command, deck.admit)
        code = await seat.leave(deck)
        if seat.left_by_choice:
            _take_leave(parting_lines(deck.view, command_for(context, paths)))
        return code
    raise AssertionError("unreachable")


def command_for(context: Context, paths: DeckPaths) -> str:
    """How the deck is opened again from here."""
    found = find_deck(None, context.environment, context.here)
    return "batchdeck" if found.root == paths.root else f"batchdeck --deck {quote(str(paths.root))}"


def _take_leave(lines: Sequence[str]) -> None:
    """Says it where whoever left now is; a terminal that has gone hears nothing."""
    with suppress(OSError):
        for line in lines:
            click.echo(line)


def _say(fault: str) -> None:
    """One line on standard error, where there is something to say and somebody to hear it."""
    if fault:
        with suppress(OSError):
            click.echo(fault, err=True)


def screen_settings(context: Context) -> ScreenSettings:
    """What the configuration says about the screen."""
    found = read_screen_settings(
        context.settings.ui, context.environment, user_themes=user_themes()
    )

    def read(name: str, known: Agent | None, change: Change) -> Agent:
        # it needs pydantic, which a dashboard without an agent's form does without
        from batchdeck.core.batchfile.single import read_changed

        return read_changed(name, known, change, context.paths.root.parent, context.settings)

    return replace(found, read_agent=read)


async def run_attached(context: Context, read_only: bool) -> int:
    """A dashboard on a deck that another process dispatches; returns the exit code.

    Raises:
        NoSupervisor: nobody dispatches it.
    """
    settings = replace(screen_settings(context), attached=True, read_only=read_only)
    paths = context.paths
    async with AsyncExitStack() as stack:
        deck = await stack.enter_async_context(context.doors.attach(paths.socket, read_only))
        seat = _Seat(_app_on(deck, settings, paths))
        await seat.sit(deck)
        code = await seat.leave(deck)
        if seat.left_by_choice:
            _take_leave(parting_lines(deck.view, command_for(context, paths), attached=True))
        return code
    raise AssertionError("unreachable")


def _app_on(deck: Deck, settings: ScreenSettings, paths: DeckPaths) -> DeckApp:
    drafts = Drafts(paths.drafts)
    return DeckApp(deck, settings, report_crash=lambda e: report_crash(paths, e), drafts=drafts)


class _Seat:
    """The app, asked to leave and never cancelled, and the signals that ask it."""

    def __init__(self, app: DeckApp) -> None:
        self._app = app
        self._signal: int | None = None
        self._refused: Receipt | None = None

    async def sit(
        self,
        deck: Deck,
        command: Command | None = None,
        admit: Callable[[], None] = lambda: None,
    ) -> None:
        """Opens the screen while the command is carried out; returns when the app has left."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._watch_signals)  # before the terminal is changed
            if command is not None:
                tasks.start_soon(self._carry_out, deck, command, admit)
            with anyio.CancelScope(shield=True):
                try:
                    await self._app.run_async()
                finally:
                    with anyio.move_on_after(LET_GO_SECONDS):
                        await self._app.let_all_go()
                    _say(self._app.drafts.trouble())
            tasks.cancel_scope.cancel()

    async def _carry_out(self, deck: Deck, command: Command, admit: Callable[[], None]) -> None:
        receipt = await deck.submit(command)
        if not receipt.accepted:
            self._refused = receipt
            self._app.exit()
            return
        admit()

    async def _watch_signals(self, *, task_status: TaskStatus[None]) -> None:
        watched = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
        with anyio.open_signal_receiver(*watched) as received:
            task_status.started()
            async for number in received:
                self._signal = number
                self._app.exit()

    @property
    def left_by_choice(self) -> bool:
        """The operator left; no signal, refusal or fault ended it."""
        return isinstance(self._app.return_value, Leave) and self._signal is None

    async def leave(self, deck: Deck) -> int:
        """Does what the operator chose, and returns the exit code."""
        if self._refused is not None:
            click.echo(self._refused.message, err=True)
            return self._refused.exit_code
        if self._signal is not None:
            return 128 + self._signal
        result = self._app.return_value
        if isinstance(result, Leave) and result.how is How.STOP_ALL:
            await stop_everything(deck)
        return self._app.return_code or 0


async def stop_everything(deck: Deck) -> None:
    """Ends what runs, and waits until no process of it is left."""
    await deck.submit(StopAll())
    with anyio.move_on_after(STOP_SECONDS):
        view = deck.view
        while view.running:
            view = await deck.wait_newer(view.revision)
