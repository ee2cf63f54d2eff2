"""What every command is given: the deck that is meant, and the ways to reach it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click
from rich.cells import cell_len

from batchdeck.core.batchfile.settings import CheckUi, Settings, read_settings
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.paths import DeckPaths, find_deck
from batchdeck.core.text import clean_line

if TYPE_CHECKING:  # a command that only looks starts in half the time without the engine's words
    from batchdeck.core.commands import Command
    from batchdeck.core.doctor.finding import Finding
    from batchdeck.core.model.event import Event
    from batchdeck.core.port import Deck, LiveDeck, OutputPage
    from batchdeck.core.view import DeckView

LONGEST_LINE = 2_000
"""Characters of a line for people."""


class Look(Protocol):
    """One open look at a deck's file, without its lock."""

    @property
    def held_by(self) -> object | None: ...

    def agent_names(self) -> tuple[str, ...]: ...

    def view(self, ended_turns: int = 0, *, spending: bool = False) -> DeckView: ...

    def has_changed(self) -> bool: ...

    def events(self, after: int, limit: int) -> Sequence[Event]: ...

    def output(self, turn: int, start: int, limit: int) -> OutputPage: ...

    def export(self, form: str, batch: str | None) -> Iterator[str]: ...


def faults_of_ui(ui: Mapping[str, Any]) -> Iterable[tuple[tuple[str, ...], str]]:
    """What of a `ui` block the screen does not have; loaded where a configuration has one."""
    from batchdeck.tui.cli.screen_check import faults_of

    return faults_of(ui)


@dataclass(frozen=True, slots=True)
class Opening:
    """How a command wants its deck opened."""

    dispatch: bool = True
    rehearse: bool = False
    """In a folder that goes afterwards, as if there were no deck yet."""
    admit: bool = True
    """False: nothing starts before the first command is carried out."""
    hold_after_unclean_stop: bool = False
    refuse_after_unclean_stop: bool = False
    on_lost: str = "ask"
    no_input: bool = False


@dataclass(frozen=True, slots=True)
class Manner:
    """How a run without a screen tells what happens, and when it is over."""

    as_json: bool = False
    plain: bool = False
    """A line for every change, and nothing that is drawn over."""
    stays: bool = False
    """Until it is told to go, as a dashboard does."""


class OpenDeck(Protocol):
    def __call__(
        self, paths: DeckPaths, opening: Opening
    ) -> AbstractAsyncContextManager[LiveDeck]: ...


@dataclass(frozen=True, slots=True)
class Doors:
    """The composition root's ways into a deck."""

    open_deck: OpenDeck
    look: Callable[[DeckPaths], AbstractContextManager[Look]]
    holder: Callable[[Path], object | None]
    serve: Callable[[Deck, Path], AbstractAsyncContextManager[None]]
    attach: Callable[[Path, bool], AbstractAsyncContextManager[Deck]]
    """By the socket of whoever dispatches; True: to look only."""
    doctor: Callable[[DeckPaths, Mapping[str, str], bool], Sequence[Finding]]


@dataclass(slots=True)
class Context:
    """One invocation."""

    doors: Doors
    environment: Mapping[str, str]
    here: Path
    deck: str | None = None

    @property
    def paths(self) -> DeckPaths:
        return find_deck(self.deck, self.environment, self.here)

    @property
    def settings(self) -> Settings:
        """The deck's configuration."""
        return read_settings(self.paths.root)

    def settings_checked_by(self, check_ui: CheckUi) -> Settings:
        """The same, with its `ui` block held against what the screen has."""
        return read_settings(self.paths.root, check_ui=check_ui)

    def look(self) -> AbstractContextManager[Look]:
        return self.doors.look(self.paths)

    def need_deck(self) -> None:
        """
        Raises:
            NotFound: there is none; what was asked for is about one that is.
        """
        with self.look():
            pass

    def submit(self, command: Command, *, offline: bool) -> tuple[int, dict[str, Any]]:
        """Has a command carried out by whoever holds the deck; exit code and document.

        `offline`: with no supervisor, it is done here, under the same lock.
        """
        from batchdeck.tui.cli.reaching import submit

        return submit(self, command, offline=offline)


def error_document(error: BatchdeckError) -> dict[str, Any]:
    """What was refused, as programs are told it."""
    return {"error": error.code, "message": error.message}


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(document, ensure_ascii=not _speaks_unicode(), default=str))


def print_line(text: str) -> None:
    """A line for people on standard output, with whatever it quotes made inert."""
    click.echo(clean_line(text, LONGEST_LINE))


def print_rows(rows: Sequence[Sequence[str]], header: Sequence[str]) -> None:
    """Rows as aligned columns for people."""
    table = [list(header), *[[clean_line(cell, LONGEST_LINE) for cell in row] for row in rows]]
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(header))]
    for row in table:
        padded = zip(row, widths, strict=True)
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in padded)
        print_line("  ".join(cells).rstrip())


def _speaks_unicode() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return encoding.lower().replace("-", "") == "utf8"
