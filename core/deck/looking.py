"""A deck looked at from outside: what its file says, without its lock and without an engine."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from batchdeck.core.clock import SystemClock
from batchdeck.core.deck.lock import Holder, holder
from batchdeck.core.deck.on_disk import data_version
from batchdeck.core.deck.reading import read_hidden
from batchdeck.core.deck.restoring import state_from
from batchdeck.core.deck.results import with_results
from batchdeck.core.errors import BatchdeckError, NotFound, StoreError
from batchdeck.core.executors import attempt_files
from batchdeck.core.export.record import history, records
from batchdeck.core.export.report import as_html
from batchdeck.core.export.tables import as_csv, as_jsonl
from batchdeck.core.model.event import Event
from batchdeck.core.paths import DeckPaths
from batchdeck.core.port import OutputPage
from batchdeck.core.secrets import Secrets, secrets_of
from batchdeck.core.store import rows
from batchdeck.core.store.connection import read_file
from batchdeck.core.store.events import read_events
from batchdeck.core.store.load import load
from batchdeck.core.store.migrate import migrations, version
from batchdeck.core.store.spending import spent_by_turns_and_tasks
from batchdeck.core.view import DeckView

ENDED_SHOWN = 1_000_000
"""Ended turns that a command may list."""


class Look:
    """One open look at a deck's file."""

    def __init__(
        self, raw: sqlite3.Connection, paths: DeckPaths, outdated: BatchdeckError | None = None
    ) -> None:
        self._file = raw
        self._paths = paths
        self._outdated = outdated
        self._seen = (data_version(raw), self.held_by)

    @property
    def _raw(self) -> sqlite3.Connection:
        """The file, as this version knows it.

        Raises:
            StoreError: it was made by an older one.
        """
        if self._outdated is not None:
            raise self._outdated
        return self._file

    def agent_names(self) -> tuple[str, ...]:
        """The agents that the deck has; of an older deck too, which `run` brings up to date."""
        found = self._file.execute("SELECT name FROM agents WHERE removed = 0 ORDER BY name")
        return tuple(row["name"] for row in found)

    @property
    def held_by(self) -> Holder | None:
        """The supervisor, where there is one."""
        return holder(self._paths.lock)

    def has_changed(self) -> bool:
        """Whether somebody has written since this was asked last, or the supervisor has changed."""
        before, self._seen = self._seen, (data_version(self._file), self.held_by)
        return self._seen != before

    def view(self, ended_turns: int = 0, *, spending: bool = False) -> DeckView:
        """The deck as it is on disk, with the latest `ended_turns` ended turns.

        `spending`: with what each turn and task has used, as `turn:ID` and `task:ID`.
        """
        stored = load(self._raw, ended_turns)
        state = state_from(stored, str(self._paths.root), keep_ended=ended_turns)
        state.supervised = self.held_by is not None
        if spending:
            state.spent |= spent_by_turns_and_tasks(self._raw)
        if state.supervised and stored.facts.get("fault"):
            state.fault, state.broken = stored.facts["fault"], True
        caps = json.loads(stored.facts.get("caps", "{}"))
        state.max_parallel_cap = caps.get("max_parallel", state.max_parallel_cap)
        state.parallelism_limit_cap = caps.get("parallelism", state.parallelism_limit_cap)
        return state.publish(SystemClock().now_ms())

    def events(self, after: int, limit: int) -> Sequence[Event]:
        """Events after a `seq`, oldest first; a negative `after`: the latest `limit`."""
        return with_results(self._raw, read_events(self._raw, after, limit))

    def export(self, form: str, batch: str | None) -> Iterator[str]:
        """The results as `jsonl`, `csv` or `html`, piece by piece."""
        found = records(self._raw, batch)
        if form == "jsonl":
            return as_jsonl(found)
        if form == "csv":
            return as_csv(found)
        past = history(self._raw, iter(self.events(0, ENDED_SHOWN)))
        return as_html(list(found), past, SystemClock().now_ms())

    @cached_property
    def _secrets(self) -> Secrets:
        """Values that agents' definitions name, as far as they are known here."""
        return secrets_of(load(self._raw, 0).agents, os.environ)

    def output(self, turn: int, start: int, limit: int) -> OutputPage:
        """A piece of a turn's output.

        Raises:
            NotFound: no such turn.
        """
        row = self._raw.execute(f"{rows.SELECT_TURNS} WHERE id = ?", (turn,)).fetchone()
        if row is None:
            raise NotFound(f"There is no turn #{turn}.")
        ended = row["ended_ms"] is not None
        if row["attempt"] is not None:
            path = self._paths.run(row["attempt"]) / attempt_files.OUTPUT
            page = read_hidden(path, start, limit, ended, self._secrets)
            if page is not None:
                return replace(page, attempt=row["attempt"])
        found = self._raw.execute(
            "SELECT text FROM messages WHERE turn = ? AND role = 'agent' ORDER BY id", (turn,)
        )
        text = "\n".join(message["text"] for message in found).encode("utf-8", "replace")
        return OutputPage(start, text[start : start + limit], len(text), ended)


@contextmanager
def look(paths: DeckPaths) -> Iterator[Look]:
    """Looks at a deck that may be dispatched by another process at this moment.

    Raises:
        NotFound: there is no deck.
        StoreError: its file cannot be read.
    """
    if not paths.database.exists():
        raise NotFound(
            f"There is no deck at {paths.root}. batchdeck run FILE makes one, "
            "batchdeck init an example file.",
            code="no_deck",
        )
    try:
        raw = read_file(paths.database)
    except sqlite3.Error as error:
        raise StoreError(f"{paths.database} cannot be opened: {error}.") from error
    try:
        if _is_being_made(raw):
            raise NotFound(f"The deck at {paths.root} is being made; try again.", code="no_deck")
        is_old = version(raw) < migrations()[-1].number
        yield Look(raw, paths, _not_up_to_date(paths) if is_old else None)
    except sqlite3.Error as error:
        raise StoreError(f"{paths.database} cannot be read: {error}.") from error
    finally:
        raw.close()


def _is_being_made(raw: sqlite3.Connection) -> bool:
    """Whether it has no schema yet. Where the process that made it was killed at the file's first
    write, its rollback journal is left, and only who opens it to write can do away with that."""
    try:
        return version(raw) == 0
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
            return True
        raise


def _not_up_to_date(paths: DeckPaths) -> BatchdeckError:
    if holder(paths.lock) is not None:
        words = f"The deck at {paths.root} is being brought up to date; try again."
        return NotFound(words, code="no_deck")
    return StoreError(
        f"The deck at {paths.root} was made by an older batchdeck. Open it once with this one "
        "(batchdeck, batchdeck run or batchdeck resume): that brings it up to date."
    )
