"""Opens a deck: its lock, its file, what an earlier supervisor left, then its engine."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus

from batchdeck.core.agents.adapter import Adapter
from batchdeck.core.clock import Clock, SystemClock
from batchdeck.core.deck.configuring import define_agents, define_folders, follow
from batchdeck.core.deck.dispatcher import Dispatcher, Prepare
from batchdeck.core.deck.edited import release_edited
from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.lock import held
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.deck.pruning import Retention, prune_in_time
from batchdeck.core.deck.pulse import take_pulses
from batchdeck.core.deck.reading import Reader
from batchdeck.core.deck.reconcile import Reconciler
from batchdeck.core.deck.recovery import Found, settle_attempts
from batchdeck.core.deck.restoring import state_from
from batchdeck.core.deck.state import KEPT_ENDED, DeckState
from batchdeck.core.deck.unknown import hold_their_turns, unknown_attempts
from batchdeck.core.deck.unstartable import bind_limits
from batchdeck.core.errors import Refused
from batchdeck.core.file_systems import refuse_network
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.hold import DECK, OURSELVES, Hold
from batchdeck.core.model.limit import ATTENTION, DEFAULT_GLOBAL, GLOBAL, Limit
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.store.changes import DROP_HOLD, SAVE_FACT, SAVE_LIMIT, Changes
from batchdeck.core.store.connection import Connection, open_reader, open_writer
from batchdeck.core.store.half_added import take_away_half_added
from batchdeck.core.store.load import Stored, load
from batchdeck.core.store.migrate import migrate
from batchdeck.core.text import counted
from batchdeck.core.trackers.tracker import IssueTracker

_log = logging.getLogger(__name__)

AGAIN_SECONDS = 5.0
"""After a role of convenience has failed, until it begins again."""
SLOW_SECONDS = 1.0
"""After which it is said that the trackers are still being asked."""
ASKING = "The trackers are asked what was done elsewhere; then the first turns start."
LEAVE_SECONDS = 2.0
"""How long the writer may take to work off its inbox when the deck closes."""


@asynccontextmanager
async def open_deck(
    paths: DeckPaths,
    options: DeckOptions,
    adapters: Mapping[AgentKind, Adapter],
    clock: Clock | None = None,
    prepare: Prepare | None = None,
    tracker: IssueTracker | None = None,
) -> AsyncIterator[Engine]:
    """A deck of which this process is the supervisor, until the block is left.

    Leaving it starts nothing new and lets go of what runs: attempts that outlive the supervisor go
    on and are adopted next time.

    Raises:
        DeckHeld: another supervisor holds it.
        StoreError: its file cannot be opened, or was written by a newer batchdeck.
        BadInput: its folder cannot be used.
    """
    clock = clock or SystemClock()
    refuse_network(paths.root)
    paths.make()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(held(paths.lock, supervisor=options.dispatch))
        restored = await _restore(stack, paths, options, clock)
        engine, reader = restored.engine, restored.reader
        failure: Exception | None = None
        async with anyio.create_task_group() as roles:
            reconciler = Reconciler(lambda: engine.view, engine.task, engine.post, clock, tracker)
            look = reconciler.before_launch
            dispatcher = Dispatcher(
                adapters, engine.post, reader.exchange, reader.said, prepare, look
            )
            engine.dispatcher = dispatcher
            await roles.start(_dispatch, dispatcher)
            if options.dispatch:
                await _take_over(restored, dispatcher, options)
                _start_helpers(roles, restored, paths, options, clock)
            roles.start_soon(engine.run)
            try:
                if options.dispatch:
                    engine.reconciler = reconciler
                    await reconciler.first_look()
                    roles.start_soon(reconciler.run)
                    roles.start_soon(_admit_when_asked, engine, reconciler)
                if options.dispatch:
                    await release_edited(engine)
                    await define_folders(engine, options.folders)
                    await define_agents(engine, options.agents)
                if options.admit:
                    engine.admit()
                yield engine
            except Exception as error:  # noqa: BLE001 - raised again below, outside of the group
                failure = error
            finally:
                with anyio.CancelScope(shield=True):
                    await _leave(engine, dispatcher, restored.writer)
                roles.cancel_scope.cancel()
        if failure is not None:
            raise failure


async def _admit_when_asked(engine: Engine, reconciler: Reconciler) -> None:
    """Lets the first turns start once the trackers said what was done elsewhere."""
    await engine.issues_come_first.wait()
    async with anyio.create_task_group() as asking:
        asking.start_soon(_say_what_is_waited_for, engine)
        await reconciler.before_admission()
        asking.cancel_scope.cancel()
    engine.begin_admitting()


async def _say_what_is_waited_for(engine: Engine) -> None:
    """Where it takes a while, so that nobody wonders why nothing starts."""
    await anyio.sleep(SLOW_SECONDS)
    engine.show_remark(ASKING)
    try:
        await anyio.sleep_forever()
    finally:
        engine.show_remark(None)


@dataclass(frozen=True, slots=True)
class _Restored:
    """A deck as its file has it; nothing runs yet."""

    engine: Engine
    state: DeckState
    writer: Connection
    reader: Reader
    unclean: bool
    """The last supervisor did not stop in order."""


async def _restore(
    stack: AsyncExitStack, paths: DeckPaths, options: DeckOptions, clock: Clock
) -> _Restored:
    """Opens the file, and brings its state into memory; `stack` closes what was opened.

    Raises:
        Refused: the last supervisor did not stop in order, and that is not to be passed over.
        StoreError: the file cannot be opened, or was written by a newer batchdeck.
    """
    writer = await open_writer(paths.database, options.synchronous)
    stack.push_async_callback(_close, writer)
    await writer.run(migrate)
    taken_away = await writer.run(take_away_half_added)
    for name in taken_away:
        _log.warning("batch %s was not added to its end, and was taken away", name)
    stored = await writer.run(lambda raw: load(raw, KEPT_ENDED))
    state = state_from(stored, str(paths.root))
    unclean = stored.facts.get("stopped_in_order") == "0" and options.dispatch
    if unclean and options.refuse_after_unclean_stop and _work_left(state):
        raise Refused(_unclean_words(state), code="held")
    await writer.run(_first_rows(state, options, clock.now_ms()).write)
    if options.dispatch:
        state.banner = await writer.run(
            lambda raw: _findings(raw, stored, state, paths, taken_away)
        )
    reading = await open_reader(paths.database)
    stack.push_async_callback(_close, reading)
    reader = Reader(reading, paths)
    engine = Engine(writer, reader, state, clock, options)
    return _Restored(engine, state, writer, reader, unclean)


async def _take_over(restored: _Restored, dispatcher: Dispatcher, options: DeckOptions) -> None:
    """Settles what an earlier supervisor left, before anything is admitted."""
    engine, state = restored.engine, restored.state
    crashed = restored.unclean
    found = await settle_attempts(
        engine, dispatcher, state, restored.reader, options, crashed=crashed
    )
    if crashed:
        _after_unclean_stop(engine, state, found, options)


def _start_helpers(
    roles: TaskGroup, restored: _Restored, paths: DeckPaths, options: DeckOptions, clock: Clock
) -> None:
    """Starts what a deck at work could do without: pulses, barriers judged, pruning."""
    engine, reader = restored.engine, restored.reader
    roles.start_soon(_outliving, take_pulses, engine, paths)
    roles.start_soon(_outliving, engine.barriers.run, reader, engine.post)
    engine.barriers.look(restored.state)
    retention = Retention.of(options.retention)
    roles.start_soon(_outliving, prune_in_time, reader, retention, clock, engine.post)
    if options.configuration is not None:
        roles.start_soon(_outliving, follow, engine, options.configuration)


async def _outliving(role: Callable[..., Awaitable[None]], *given: Any) -> None:
    """A role without which the deck still works: its fault ends neither the deck nor itself."""
    while True:
        try:
            await role(*given)
        except Exception:  # noqa: BLE001
            _log.exception("%s failed; it begins again", role.__qualname__)
            await anyio.sleep(AGAIN_SECONDS)
        else:
            return


def _findings(
    raw: sqlite3.Connection,
    stored: Stored,
    state: DeckState,
    paths: DeckPaths,
    taken_away: Sequence[str],
) -> str | None:
    """What the operator should know of a deck's files at once."""
    words = [
        f"Batch {name} was not added to its end, and nothing of that was kept: run its file again."
        for name in taken_away
    ]
    if stored.set_aside:
        shown = ", ".join(stored.set_aside[:3]) + (" …" if len(stored.set_aside) > 3 else "")
        words.append(f"Rows that cannot be read were set aside, the rest runs: {shown}.")
    unknown = hold_their_turns(raw, state, unknown_attempts(raw, paths.runs))
    return " ".join([*words, *([unknown] if unknown else [])]) or None


async def _dispatch(dispatcher: Dispatcher, *, task_status: TaskStatus[None]) -> None:
    await dispatcher.run(task_status=task_status)


async def _close(connection: Connection) -> None:
    with anyio.CancelScope(shield=True):
        await connection.close()


def _first_rows(state: DeckState, options: DeckOptions, now_ms: int) -> Changes:
    """What every deck has, and the mark of a supervisor that has not stopped yet."""
    changes = Changes()
    state.max_parallel_cap = options.max_parallel_cap
    state.parallelism_limit_cap = options.parallelism_limit_cap
    state.supervised = options.dispatch
    if GLOBAL not in state.limits:
        state.limits[GLOBAL] = Limit(GLOBAL, DEFAULT_GLOBAL)
        row = (GLOBAL, DEFAULT_GLOBAL, DEFAULT_GLOBAL, "", now_ms, "default", 0)
        changes.add(SAVE_LIMIT, row)
    attention = options.attention_limit
    if attention is not None and ATTENTION not in state.limits:
        state.limits[ATTENTION] = replace(attention, explicit=False)
        number, origin = attention.value, attention.origin
        changes.add(SAVE_LIMIT, (ATTENTION, number, number, "", now_ms, origin, 0))
    caps = {
        "max_parallel": options.max_parallel_cap,
        "parallelism": options.parallelism_limit_cap,
    }
    changes.add(SAVE_FACT, ("caps", json.dumps(caps)))
    bind_limits(changes, state.snapshot(now_ms))
    if options.dispatch:
        changes.add(SAVE_FACT, ("stopped_in_order", "0"))
        changes.add(SAVE_FACT, ("fault", ""))
        state.draining = False
        changes.add(SAVE_FACT, ("draining", "0"))
        _forget_own_holds(state, changes)
    return changes


def _forget_own_holds(state: DeckState, changes: Changes) -> None:
    """What could not be started under the last supervisor is tried again under this one."""
    own = [hold for hold in state.holds.values() if hold.by == OURSELVES and hold.what != DECK]
    for hold in own:
        del state.holds[hold.what]
        changes.add(DROP_HOLD, (hold.what,))


def _work_left(state: DeckState) -> int:
    return state.running + state.counts.get(TurnState.QUEUED, 0)


def _unclean_words(state: DeckState) -> str:
    queued = state.counts.get(TurnState.QUEUED, 0)
    return (
        f"The last supervisor of this deck did not stop in order; {counted(state.running, 'turn')} "
        f"ran and {counted(queued, 'turn')} waited. Nothing was started: look with batchdeck "
        "status, and "
        "go on with --auto-resume, or in the dashboard."
    )


def _after_unclean_stop(
    engine: Engine, state: DeckState, found: Found, options: DeckOptions
) -> None:
    queued = state.counts.get(TurnState.QUEUED, 0)
    if not queued and not found.total:
        return
    waiting = f"{counted(queued, 'turn')} queued."
    words = f"The last supervisor did not stop in order. {found.words} {waiting}"
    state.banner = f"{words} {state.banner}" if state.banner else words
    if options.hold_after_unclean_stop and DECK not in state.holds:
        engine.hold_at_start(Hold(DECK, OURSELVES, "the last supervisor did not stop in order"))


async def _leave(engine: Engine, dispatcher: Dispatcher, writer: Connection) -> None:
    engine.stop_admitting()
    dispatcher.abandon()
    engine.close()
    with anyio.move_on_after(LEAVE_SECONDS):
        await engine.closed.wait()
    if engine.supervises and engine.closed.is_set():
        changes = Changes()
        changes.add(SAVE_FACT, ("stopped_in_order", "1"))
        await writer.run(changes.write)
