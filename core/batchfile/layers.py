"""The files that may hold some of a deck's configuration, read and laid one over the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from batchdeck.core.batchfile.agents import agent_from, check_agents
from batchdeck.core.batchfile.document import Document, parse
from batchdeck.core.batchfile.faults import BatchFileFaults
from batchdeck.core.batchfile.schema import ConfigBlock, LimitsBlock, Ui
from batchdeck.core.batchfile.settings import (
    CONFIG,
    DEFAULT_INTERVAL,
    GUIDES,
    CheckUi,
    Settings,
)
from batchdeck.core.batchfile.source import read_source
from batchdeck.core.batchfile.trust import distrust, provenance_of
from batchdeck.core.batchfile.wording import validate
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.limit import (
    ATTENTION,
    DEFAULT_AGENT_CAP,
    DEFAULT_GLOBAL_CAP,
    GLOBAL,
    Limit,
)
from batchdeck.core.model.task import Status
from batchdeck.core.paths import absolute

_ELSEWHERE = "Your own config.yaml (~/.config/batchdeck), or a batch file, may name it"


def read_layers(deck: Path, user: Path, check_ui: CheckUi) -> Settings:
    """What the files say, the deck's own first (`settings.read_settings`).

    Raises:
        BatchFileFaults: something in them is wrong; every fault is named.
        BadInput: one of them cannot be read.
    """
    layers: list[_Layer] = []
    faults: list[Any] = []
    for source in _sources(deck, user):
        try:
            layers.extend(source.read(check_ui))
        except BatchFileFaults as found:
            faults.extend(found.faults)
    if faults:
        raise BatchFileFaults(faults)
    return _merged(layers)


@dataclass(frozen=True, slots=True)
class _Layer:
    origin: str
    block: ConfigBlock
    base: Path


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    base: Path
    origin: str
    """As the numbers that come from it name it: two files may be called the same."""
    is_guide: bool = False
    in_deck: bool = False

    def read(self, check_ui: CheckUi) -> Iterator[_Layer]:
        if not self.path.exists():
            return
        text, offset = read_source(self.path), 0
        if self.is_guide:
            text, offset = _front_matter(text)
        document = parse(str(self.path), text, offset)
        if self.is_guide and document.broken and not _speaks_of_batch(text):
            return  # another program's front matter is none of our business
        block = _guide(document) if self.is_guide else _config(document)
        if self.in_deck and not document.broken:
            _refuse_programs_of_others(document, self.path)
        if not self.is_guide and (ui := _sound_ui(document)):
            for way, words in check_ui(ui):
                document.fault(("ui", *way), words)
        document.raise_faults()
        if block is not None:
            yield _Layer(self.origin, block, self.base)


def _sound_ui(document: Document) -> Mapping[str, Any]:
    """Those values of the `ui` block that have their form, whatever else is wrong in the file."""
    values = {} if document.broken or not isinstance(document.values, dict) else document.values
    ui = values.get("ui")
    sound: dict[str, Any] = {}
    for name, value in ui.items() if isinstance(ui, dict) else ():
        try:
            sound |= Ui.model_validate({name: value}).model_dump(exclude_none=True)
        except ValidationError:
            continue  # told already
    return sound


def _sources(deck: Path, user: Path) -> Iterator[_Source]:
    beside = deck.parent
    yield _Source(deck / CONFIG, base=beside, origin=f"{deck.name}/{CONFIG}", in_deck=True)
    for name in GUIDES:
        yield _Source(beside / name, base=beside, origin=name, is_guide=True)
    yield _Source(user, base=user.parent, origin=_from_home(user))


def _from_home(path: Path) -> str:
    home = os.path.expanduser("~")  # stays as it is where nobody knows a home
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _refuse_programs_of_others(document: Document, path: Path) -> None:
    """A repository's own configuration may set limits, and neither name programs nor take keys."""
    values = document.values if isinstance(document.values, dict) else {}
    named = [key for key in ("agents", "tracker") if values.get(key)]
    if not named:
        return
    # a deck's folder is its owner's alone, so whoever may write to the file does not matter
    reason = distrust(replace(provenance_of(path), writable_by_others=False))
    for key in named if reason else ():
        document.fault((key,), f"not taken from this file: {reason}. {_ELSEWHERE}", at_key=True)


def _front_matter(text: str) -> tuple[str, int]:
    """The YAML between the two `---` at a text's beginning, and how many lines are before it."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", 0
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), 1
    return "", 0


def _speaks_of_batch(text: str) -> bool:
    return any(line.startswith("batch:") for line in text.split("\n"))


def _guide(document: Document) -> ConfigBlock | None:
    values = document.values
    if document.broken or not isinstance(values, dict) or values.get("batch") is None:
        return None
    limits = validate(document, values["batch"], LimitsBlock, at=("batch",))
    return ConfigBlock(batch=limits)


def _config(document: Document) -> ConfigBlock | None:
    if document.broken:
        return None
    values = document.values
    if isinstance(values, dict):
        cap = values.get("parallelism_limit_cap")
        known = cap if isinstance(cap, int) and not isinstance(cap, bool) else DEFAULT_AGENT_CAP
        check_agents(document, values.get("agents"), known)
        _check_cap(document, values)
    return validate(document, values, ConfigBlock)


def _check_cap(document: Document, values: Mapping[str, Any]) -> None:
    batch, cap = values.get("batch"), values.get("max_parallel_cap")
    limit = batch.get("max_parallel") if isinstance(batch, dict) else None
    if not isinstance(limit, int):
        return
    known = cap if isinstance(cap, int) and not isinstance(cap, bool) else DEFAULT_GLOBAL_CAP
    check_global(document, limit, known, ("batch", "max_parallel"))


def check_global(document: Document, limit: Any, cap: int, loc: tuple[str, ...]) -> None:
    """Notes a `max_parallel` above the cap."""
    if isinstance(limit, int) and not isinstance(limit, bool) and limit > cap:
        words = f"{limit} is too large: expected at most {cap} (max_parallel_cap)"
        document.fault(loc, words)


# ---------------------------------------------------------------- all files


def _merged(layers: list[_Layer]) -> Settings:
    """What the first layer that says something says."""
    interval = _first(layers, "reconciliation_interval_seconds")
    folders = _folders(layers)
    tracker = _first(layers, "tracker")
    return Settings(
        max_parallel=_max_parallel(layers),
        by_status=MappingProxyType(_by_status(layers)),
        attention=_limit(ATTENTION, _first(layers, "attention_limit")),
        reconciliation_interval_seconds=interval[0] if interval else DEFAULT_INTERVAL,
        reconciliation_origin=interval[1] if interval else "default",
        max_parallel_cap=(_first(layers, "max_parallel_cap") or (DEFAULT_GLOBAL_CAP,))[0],
        parallelism_limit_cap=(_first(layers, "parallelism_limit_cap") or (DEFAULT_AGENT_CAP,))[0],
        agents=MappingProxyType(_agents(layers, folders)),
        folders=MappingProxyType(folders),
        synchronous=(_first(layers, "synchronous") or ("full",))[0],
        retention=MappingProxyType(_keys(layers, "retention", nulls=True)),
        tracker=MappingProxyType(tracker[0].model_dump()) if tracker else None,
        ui=MappingProxyType(_keys(layers, "ui")),
    )


def _first(layers: list[_Layer], key: str) -> tuple[Any, str] | None:
    for layer in layers:
        value = getattr(layer.block, key)
        if value is not None:
            return value, layer.origin
    return None


def _limit(name: str, found: tuple[Any, str] | None) -> Limit | None:
    if found is None:
        return None
    return Limit(name, found[0], origin=found[1], explicit=True)


def _max_parallel(layers: list[_Layer]) -> Limit | None:
    for layer in layers:
        if layer.block.batch and layer.block.batch.max_parallel is not None:
            return _limit(GLOBAL, (layer.block.batch.max_parallel, layer.origin))
    return None


def _by_status(layers: list[_Layer]) -> dict[Status, Limit]:
    found: dict[Status, Limit] = {}
    for layer in layers:
        limits = layer.block.batch.max_parallel_by_status if layer.block.batch else None
        for status, value in (limits or {}).items():
            if value is not None:
                found.setdefault(status, Limit(status, value, origin=layer.origin, explicit=True))
    return found


def _folders(layers: list[_Layer]) -> dict[str, str]:
    folders: dict[str, str] = {}
    for layer in layers:
        for name, path in (layer.block.folders or {}).items():
            folders.setdefault(name, absolute(path, layer.base))
    return folders


def _agents(layers: list[_Layer], folders: Mapping[str, str]) -> dict[str, Agent]:
    agents: dict[str, Agent] = {}
    for layer in layers:
        for name, block in (layer.block.agents or {}).items():
            agents.setdefault(name, agent_from(name, block, layer.base, folders))
    return agents


def _keys(layers: list[_Layer], key: str, *, nulls: bool = False) -> dict[str, Any]:
    """A block of the user's, overlaid by the deck's, key by key. `nulls`: null says something."""
    found: dict[str, Any] = {}
    wanted = {"exclude_unset": True} if nulls else {"exclude_none": True}
    for layer in reversed(layers):
        block = getattr(layer.block, key)
        found |= block.model_dump(**wanted) if block else {}
    return found
