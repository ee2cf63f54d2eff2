"""One examination of a deck from its disk to its processes, with repair where that was asked."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Iterator, Mapping

from batchdeck.core.batchfile.settings import CheckUi, read_settings
from batchdeck.core.deck.lock import holder
from batchdeck.core.deck.state import DeckState
from batchdeck.core.doctor import rows, surroundings
from batchdeck.core.doctor.finding import Finding, Grade, fine, problem, remark
from batchdeck.core.doctor.repairing import give_back, mend_rows
from batchdeck.core.doctor.trackers import look_at_tracker
from batchdeck.core.errors import BatchdeckError, StoreError
from batchdeck.core.executors.processes import signal_marked
from batchdeck.core.model.agent import Agent
from batchdeck.core.paths import DeckPaths
from batchdeck.core.rules.reconciling import issues_of
from batchdeck.core.store.connection import in_words, read_file
from batchdeck.core.store.migrate import migrations, version

SWEEP_SECONDS = 5.0


def examine(
    paths: DeckPaths, environment: Mapping[str, str], check_ui: CheckUi, *, repair: bool
) -> list[Finding]:
    """Looks at everything, and with `repair` mends what can be; raises for nothing it finds."""
    found = [
        surroundings.look_at_sqlite(),
        surroundings.look_at_file_system(paths),
        surroundings.look_at_space(paths),
        *surroundings.look_at_configuration(paths, check_ui),
    ]
    agents = _configured(paths)
    if not paths.database.exists():
        found.append(remark("deck", f"there is none at {paths.root} yet"))
        found += look_at_tracker(paths, environment, ())
        return [*found, *surroundings.look_at_agents(agents.values(), environment)]
    found += surroundings.look_at_modes(paths, repair=repair)
    found.append(surroundings.look_at_runs(paths))
    held_by = holder(paths.lock)
    found.append(
        fine("supervisor", "none works on this deck now")
        if held_by is None
        else fine("supervisor", f"process {held_by.pid} on {held_by.host}")
    )
    try:
        looked, state = _look_inside(paths, supervised=held_by is not None, repair=repair)
    except (sqlite3.Error, StoreError) as error:
        words = in_words(error) if isinstance(error, sqlite3.Error) else error.message
        return [*found, problem("database", words)]
    if state is not None:
        agents = {**agents, **state.agents}
    found += look_at_tracker(paths, environment, _repositories(state))
    return [*found, *looked, *surroundings.look_at_agents(agents.values(), environment)]


def _configured(paths: DeckPaths) -> dict[str, Agent]:
    try:
        return dict(read_settings(paths.root).agents)
    except BatchdeckError:
        return {}  # told among the findings about the configuration


def _repositories(state: DeckState | None) -> frozenset[str]:
    """Those of the issues on the deck's own tracker."""
    refs = issues_of(() if state is None else state.tasks.values()).values()
    return frozenset(ref.repo for ref in refs if not ref.host)


def _look_inside(
    paths: DeckPaths, *, supervised: bool, repair: bool
) -> tuple[list[Finding], DeckState | None]:
    raw = read_file(paths.database)
    try:
        current, newest = version(raw), migrations()[-1].number
        if current > newest:
            words = f"was written by a newer batchdeck (schema {current}, this one knows {newest})"
            return [problem("database", words)], None
        found = list(rows.look_at_file(raw))
        if any(one.grade is Grade.PROBLEM for one in found) or current < newest:
            return found, None
        room = rows.look_at_room(raw)
        if room is not None:
            found.append(give_back(paths, room) if repair and not supervised else room)
        told, state = rows.look_at_rows(raw, paths, supervised=supervised)
        if repair and any(one.grade is Grade.PROBLEM for one in told):
            told = mend_rows(paths, told, supervised=supervised)
        found += [*told, *rows.look_at_attempts(raw, paths)]
        return [*found, *_processes(raw, paths, repair=repair)], state
    finally:
        raw.close()


def _processes(raw: sqlite3.Connection, paths: DeckPaths, *, repair: bool) -> Iterator[Finding]:
    left = rows.strays(raw, paths)
    for attempt, count in left.items():
        words = f"{count} left of runs/{attempt[:8]}…, which has ended"
        if repair:
            _end(attempt)
        yield problem("processes", words, "ended" if repair else None)
    if not left:
        yield fine("processes", "none is left of attempts that have ended")


def _end(attempt: str) -> None:
    signal_marked(attempt, signal.SIGTERM)
    until = time.monotonic() + SWEEP_SECONDS
    while signal_marked(attempt, 0) and time.monotonic() < until:
        time.sleep(0.05)
    while signal_marked(attempt, signal.SIGKILL):
        time.sleep(0.05)
