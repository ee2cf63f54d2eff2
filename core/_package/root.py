"""The composition root: opens decks for the command line, and is the one place that knows all."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio

from batchdeck.core.paths import DeckPaths
from batchdeck.tui.cli.context import Doors, Opening, faults_of_ui
from batchdeck.tui.cli.main import run_command_line

if TYPE_CHECKING:
    from batchdeck.core.deck.engine import Engine


class _Deferred:
    """A kind of agent that is loaded when the first turn needs it: its libraries take a while."""

    outlives = False

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._agent: Any = None

    def _loaded(self) -> Any:
        if self._agent is None:
            self._agent = self._load()
        return self._agent

    async def run(self, assignment: Any, control: Any) -> Any:
        return await self._loaded().run(assignment, control)

    async def adopt(self, assignment: Any, control: Any) -> Any:
        return await self._loaded().adopt(assignment, control)

    async def end_leftovers(self, run: Any) -> int:
        return int(await self._loaded().end_leftovers(run))

    def never_started(self, run: Any) -> bool:
        return True

    def at_work(self, run: Any) -> bool:
        return False

    async def close(self) -> None:
        if self._agent is not None:
            await self._agent.close()


def _chat_agent() -> Any:
    from batchdeck.core.agents.openai import OpenAIAgent

    return OpenAIAgent()


class _Missing:
    """Stands for a kind of agent whose libraries are not installed: it is held, with why."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor

    async def end_leftovers(self, run: Any) -> int:
        return int(await self._executor.sweep(run.name))

    async def run(self, assignment: Any, control: Any) -> Any:
        from batchdeck.core.agents.adapter import Outcome
        from batchdeck.core.model.turn import TurnState

        words = "agents of kind acp need an extra: pip install 'batchdeck[acp]'"
        return Outcome(TurnState.FAILED, error=words, surroundings="agent")

    async def close(self) -> None:
        """Nothing is open."""


def _protocol_agent(executor: Any) -> Any:
    try:
        from batchdeck.core.agents.acp import AcpAgent
    except ModuleNotFoundError as error:
        if error.name != "acp":
            raise
        return _Missing(executor)
    return AcpAgent(executor)


@contextmanager
def _place(paths: DeckPaths, opening: Opening) -> Iterator[DeckPaths]:
    """Where the deck is opened: in its own folder, or to rehearse, in one that goes afterwards."""
    if not opening.rehearse:
        yield paths
        return
    with TemporaryDirectory(prefix="batchdeck-") as folder:
        yield DeckPaths(Path(folder) / paths.root.name)


class _Root:
    """Opens decks with the environment as it was when the process began."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)

    @asynccontextmanager
    async def open_deck(self, paths: DeckPaths, opening: Opening) -> AsyncIterator[Engine]:
        from batchdeck.core.agents.command import CommandAgent
        from batchdeck.core.agents.demo import DemoAgent
        from batchdeck.core.agents.preparing import Preparation
        from batchdeck.core.batchfile.settings import SettingsFiles, read_settings
        from batchdeck.core.batchfile.trust import refuse_tracked_deck
        from batchdeck.core.clock import SystemClock
        from batchdeck.core.deck.opening import open_deck
        from batchdeck.core.deck.options import DeckOptions
        from batchdeck.core.executors.local import LocalExecutor
        from batchdeck.core.model.agent import AgentKind
        from batchdeck.core.trackers.choosing import trackers

        refuse_tracked_deck(paths.root)
        files = SettingsFiles(paths.root, faults_of_ui)
        settings = read_settings(paths.root)
        if opening.dispatch:
            paths.make()
        log_to(paths.log)
        options = DeckOptions(
            synchronous=settings.synchronous,
            max_parallel_cap=settings.max_parallel_cap,
            parallelism_limit_cap=settings.parallelism_limit_cap,
            attention_limit=settings.attention,
            environment=self._environment,
            agents=tuple(settings.agents.values()),
            configuration=files,
            folders=settings.folders,
            dispatch=opening.dispatch,
            admit=opening.admit,
            hold_after_unclean_stop=opening.hold_after_unclean_stop,
            refuse_after_unclean_stop=opening.refuse_after_unclean_stop,
            on_lost=opening.on_lost,
            no_input=opening.no_input,
            retention=settings.retention,
        )
        executor, chat = LocalExecutor(), _Deferred(_chat_agent)
        protocol = _Deferred(lambda: _protocol_agent(executor))
        adapters: dict[AgentKind, Any] = {
            AgentKind.COMMAND: CommandAgent(executor),
            AgentKind.DEMO: DemoAgent(),
            AgentKind.OPENAI: chat,
            AgentKind.ACP: protocol,
        }
        prepare = Preparation(executor).carry_out
        clock = SystemClock()
        tracker = trackers(settings.tracker, self._environment, clock)
        try:
            with _place(paths, opening) as place:
                async with open_deck(place, options, adapters, clock, prepare, tracker) as deck:
                    gc.freeze()  # what was loaded stays: it need not be looked through ever again
                    yield deck
        finally:
            with anyio.CancelScope(shield=True):
                await chat.close()
                await tracker.close()

    def look(self, paths: DeckPaths) -> Any:
        from batchdeck.core.deck.looking import look

        log_to(paths.log)
        return look(paths)

    def holder(self, lock: Any) -> object | None:
        from batchdeck.core.deck.lock import holder

        return holder(lock)

    def serve(self, deck: Any, path: Any) -> Any:
        from batchdeck.core.control.server import served

        return served(deck, path)

    def attach(self, path: Path, read_only: bool) -> Any:
        from batchdeck.core.control.remote import attached

        return attached(path, read_only=read_only)

    def doctor(self, paths: DeckPaths, environment: Mapping[str, str], repair: bool) -> Any:
        from batchdeck.core.doctor.examining import examine

        return examine(paths, environment, faults_of_ui, repair=repair)


COLLECT_AFTER = 50_000
"""Objects with references that must be new before Python looks for cycles among them. Python's own
700 is for small programs: with some 10,000 turns in memory, looking costs a tenth of the time."""


def collect_seldom() -> None:
    """Has Python's garbage collector run as seldom as a program of this size needs."""
    gc.set_threshold(COLLECT_AFTER, 20, 20)


LOG_BYTES = 1_000_000
LOG_FILES = 3


def log_to(path: Path) -> None:
    """Sends what the engine has to say to a file that never grows beyond all bounds.

    What libraries have to complain of goes there too: nothing of it may reach the screen. Where
    nothing is said, no file is made; said again of another deck, it is about that one.
    """
    from logging.handlers import RotatingFileHandler

    root, logger = logging.getLogger(), logging.getLogger("batchdeck")
    for earlier in tuple(logger.handlers):
        logger.removeHandler(earlier)
        root.removeHandler(earlier)
        earlier.close()
    handler = RotatingFileHandler(
        path, maxBytes=LOG_BYTES, backupCount=LOG_FILES - 1, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.raiseExceptions = False  # a log that cannot be written is no reason for a traceback
    logger.addHandler(handler)
    logger.propagate = False
    root.addHandler(handler)


def run() -> int:
    """The command line in this process's environment; returns the exit code."""
    collect_seldom()
    root = _Root(os.environ)
    doors = Doors(root.open_deck, root.look, root.holder, root.serve, root.attach, root.doctor)
    return run_command_line(doors, dict(os.environ))
