"""What a deck stands on: disk, file system, modes, SQLite, the agents' programs, configuration."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from batchdeck.core.agents.command_line import CannotStart, locate
from batchdeck.core.batchfile.settings import CheckUi, read_settings
from batchdeck.core.deck.pruning import Retention, holds_work, size_of
from batchdeck.core.doctor.finding import Finding, fine, problem, remark
from batchdeck.core.doctor.versions import version_of
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.file_systems import NETWORK, SHARED, kind_of
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.paths import DeckPaths
from batchdeck.core.text import counted

LITTLE_BYTES, SCARCE_BYTES = 100 << 20, 1 << 30
_MOST_NAMED = 3
_SOUND_SQLITE = (3, 51, 3)
_SOUND_ALREADY = ((3, 50, 7), (3, 44, 6))
"""Older lines to which the correction was carried over (sqlite.org/wal.html)."""

ACP_EXTRA = "agents of kind acp need an extra: pip install 'batchdeck[acp]'"


def look_at_file_system(paths: DeckPaths) -> Finding:
    kind = kind_of(paths.root)
    if kind is None:
        return remark("file system", "this system does not say which kind it is")
    if kind in NETWORK:
        return problem("file system", f"{kind}: a deck's database is not safe over a network")
    if SHARED.fullmatch(kind):
        return remark("file system", f"{kind}: use this deck from one machine only")
    return fine("file system", kind)


def look_at_space(paths: DeckPaths) -> Finding:
    free = shutil.disk_usage(_nearest(paths.root)).free
    words = f"{free / 1e9:.1f} GB are free"
    if free < LITTLE_BYTES:
        return problem("disk", f"only {free / 1e6:.0f} MB are free")
    return remark("disk", words) if free < SCARCE_BYTES else fine("disk", words)


def look_at_runs(paths: DeckPaths) -> Finding:
    """What attempts left on disk, how long it stays, and where agents' own work is among it."""
    runs = [run for run in paths.runs.iterdir() if run.is_dir()] if paths.runs.is_dir() else []
    bytes_kept = sum(size_of(run) for run in runs)
    words = f"{counted(len(runs), 'folder')} of attempts, {bytes_kept / 1e6:.1f} MB"
    with_work = sorted(run.name for run in runs if holds_work(run))
    if with_work:
        named = ", ".join(f"runs/{name}/scratch" for name in with_work[:_MOST_NAMED])
        more = len(with_work) - len(with_work[:_MOST_NAMED])
        words += f"; agents left files in {named}" + (f" and {more} more" if more else "")
    return fine("runs", f"{words}; {_retention(paths).words}")


def _retention(paths: DeckPaths) -> Retention:
    try:
        return Retention.of(read_settings(paths.root).retention)
    except BatchdeckError:
        return Retention.of({})  # told among the findings about the configuration


def _nearest(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def look_at_sqlite(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> Finding:
    number = ".".join(map(str, version))
    patched = any(version[:2] == line[:2] and version >= line for line in _SOUND_ALREADY)
    if version >= _SOUND_SQLITE or patched:
        return fine("sqlite", number)
    return remark(
        "sqlite",
        f"{number} can lose commits where two connections write at once; batchdeck has one that "
        "writes, but let no other program write to the deck's file (mended in 3.51.3)",
    )


def look_at_modes(paths: DeckPaths, *, repair: bool) -> Iterator[Finding]:
    """Files and folders that others could read."""
    open_ones = [path for path in _own_files(paths) if _others_may(path)]
    for path in open_ones:
        mode = stat.S_IMODE(path.lstat().st_mode)
        words = f"{path.name or path} can be read by others (mode {mode:04o})"
        if repair:
            # by path: opening and closing the database's file would drop its locks
            os.chmod(path, mode & 0o700)
        yield problem("modes", words, "closed to others" if repair else None)
    if not open_ones:
        yield fine("modes", "only you can read the deck's files")


def _own_files(paths: DeckPaths) -> Iterable[Path]:
    files = [entry for entry in paths.root.iterdir() if entry.name != "config.yaml"]
    runs = list(paths.runs.iterdir())[:1000] if paths.runs.is_dir() else []
    return [paths.root, *files, *runs]


def _others_may(path: Path) -> bool:
    status = path.lstat()
    return not stat.S_ISLNK(status.st_mode) and bool(status.st_mode & 0o077)


def look_at_configuration(paths: DeckPaths, check_ui: CheckUi) -> Iterator[Finding]:
    """Every fault in its files; `check_ui` knows what the screen has."""
    try:
        read_settings(paths.root, check_ui=check_ui)
    except BatchdeckError as error:
        for line in error.message.splitlines():
            yield problem("configuration", line)
        return
    yield fine("configuration", "can be read")


def look_at_agents(agents: Iterable[Agent], environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether each agent's program is there and may be executed, and its keys are set."""
    for agent in agents:
        if agent.api_key_env and not environment.get(agent.api_key_env, "").strip():
            words = f"{agent.name}: the variable {agent.api_key_env} is not set here"
            yield problem("agents", words)
        elif agent.kind is AgentKind.OPENAI:
            yield fine("agents", f"{agent.name}: {agent.base_url} is asked when it is needed")
        if agent.kind not in (AgentKind.COMMAND, AgentKind.ACP) or not agent.command:
            continue
        path = {"PATH": agent.env.get("PATH", environment.get("PATH", os.defpath))}
        try:
            found = locate(agent.command[0], path)
        except CannotStart as reason:
            yield problem("agents", f"{agent.name}: {reason.words}")
            continue
        if os.path.isfile(found) and os.access(found, os.X_OK):
            version = version_of(found, {**environment, **path})
            yield fine("agents", f"{agent.name}: {found}" + (f" ({version})" if version else ""))
        elif os.path.exists(found):
            yield problem("agents", f"{agent.name}: {found} may not be executed")
        else:
            yield problem("agents", f"{agent.name}: {found} is missing")
        if agent.kind is AgentKind.ACP and find_spec("acp") is None:
            yield problem("agents", f"{agent.name}: {ACP_EXTRA}")
        for name in (name for name in agent.pass_env if name not in environment):
            yield remark("agents", f"{agent.name}: the variable {name} is not set here")
