"""A deck's configuration, from all the files that may hold some of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import platformdirs

from batchdeck.core.model.agent import Agent
from batchdeck.core.model.limit import (
    DEFAULT_AGENT_CAP,
    DEFAULT_GLOBAL_CAP,
    Limit,
)
from batchdeck.core.model.task import Status
from batchdeck.core.paths import of_the_user

CONFIG = "config.yaml"
GUIDES = ("AGENTS.md", "CODEFRAME.md")
"""Files beside the deck whose front matter may hold a `batch:` block; the first one goes first."""

DEFAULT_INTERVAL = 30.0

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured, with where each number comes from (its `origin`)."""

    max_parallel: Limit | None = None
    """For batches that set none; named `global`."""
    by_status: Mapping[Status, Limit] = field(default_factory=lambda: _NOTHING)
    """For batches that set none; named by the status alone."""
    attention: Limit | None = None
    reconciliation_interval_seconds: float = DEFAULT_INTERVAL
    reconciliation_origin: str = "default"
    max_parallel_cap: int = DEFAULT_GLOBAL_CAP
    parallelism_limit_cap: int = DEFAULT_AGENT_CAP
    agents: Mapping[str, Agent] = field(default_factory=lambda: _NOTHING)
    folders: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """Defined names of folders, absolute paths."""
    synchronous: str = "full"
    retention: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    tracker: Mapping[str, Any] | None = None
    ui: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


def user_config() -> Path:
    """Where the user's own configuration lies."""
    return of_the_user(platformdirs.user_config_path) / CONFIG


CheckUi = Callable[[Mapping[str, Any]], Iterable[tuple[tuple[str, ...], str]]]
"""What is wrong with a `ui` block, as the screen knows it: the way to each value, and words."""


def _unchecked(ui: Mapping[str, Any]) -> tuple[()]:
    """A screen says itself what of it cannot be used, and goes on without it."""
    return ()


def read_settings(deck: Path, user: Path | None = None, check_ui: CheckUi = _unchecked) -> Settings:
    """The settings for a deck (its folder `.batchdeck`), its own file first, then the others.

    The order is the deck's `config.yaml`, `AGENTS.md`, `CODEFRAME.md`, the user's `config.yaml`
    (`user`; by default where the system keeps it). Files that are not there say nothing.

    Raises:
        BatchFileFaults: something in them is wrong; every fault is named.
        BadInput: one of them cannot be read.
    """
    deck = Path(os.path.abspath(deck))
    if not any(file.exists() for file in _files(deck, user or user_config())):
        return Settings()
    from batchdeck.core.batchfile.layers import read_layers  # the schema takes a while to load

    return read_layers(deck, user or user_config(), check_ui)


class SettingsFiles:
    """The files of a deck's settings, looked at now, and again and again."""

    def __init__(self, deck: Path, check_ui: CheckUi = _unchecked) -> None:
        self._deck = Path(os.path.abspath(deck))
        self._check_ui = check_ui
        self._seen = self._look()

    def have_changed(self) -> bool:
        """Whether a file is another one than at the last look."""
        before, self._seen = self._seen, self._look()
        return before != self._seen

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(file) for file in _files(self._deck, user_config())]

    def agents(self) -> tuple[Agent, ...]:
        """The agents that they define now.

        Raises:
            BatchFileFaults, BadInput: as `read_settings`.
        """
        return tuple(read_settings(self._deck, check_ui=self._check_ui).agents.values())


def _files(deck: Path, user: Path) -> list[Path]:
    return [deck / CONFIG, *(deck.parent / name for name in GUIDES), user]


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
