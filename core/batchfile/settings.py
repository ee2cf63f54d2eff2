"""A deck's configuration, from all the files that may hold some of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
    return platformdirs.user_config_path("batchdeck") / CONFIG


def read_settings(deck: Path, user: Path | None = None) -> Settings:
    """The settings for a deck (its folder `.batchdeck`), its own file first, then the others.

    The order is the deck's `config.yaml`, `AGENTS.md`, `CODEFRAME.md`, the user's `config.yaml`
    (`user`; by default where the system keeps it). Files that are not there say nothing.

    Raises:
        BatchFileFaults: something in them is wrong; every fault is named.
        BadInput: one of them cannot be read.
    """
    deck = Path(os.path.abspath(deck))
    files = [deck / CONFIG, *(deck.parent / name for name in GUIDES), user or user_config()]
    if not any(file.exists() for file in files):
        return Settings()
    from batchdeck.core.batchfile.layers import read_layers  # the schema takes a while to load

    return read_layers(deck, user or user_config())
