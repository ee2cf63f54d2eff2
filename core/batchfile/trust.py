"""Whether a batch file may name programs without anybody having looked at them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from batchdeck.core.errors import BadInput
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.spec import BatchSpec

_GIT_SECONDS = 10
DATABASE = "deck.db"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a file comes from, as far as the file system and git tell."""

    is_own: bool
    writable_by_others: bool
    tracked: bool


@dataclass(frozen=True, slots=True)
class Trust:
    """Whether a file is trusted as it is, and if not, what is to be approved once."""

    trusted: bool
    reason: str
    """Why not, in words; empty where it is trusted."""
    fingerprint: str
    """Of everything in `shown`; what an approval is remembered by."""
    shown: tuple[str, ...]
    """Its commands, environment, preparation and addresses, a line each."""


def judge(spec: BatchSpec, provenance: Provenance) -> Trust:
    """The rule: the user's own, not writable by others, and not tracked by git."""
    shown = tuple(_shown(spec))
    fingerprint = hashlib.sha256(json.dumps(shown).encode()).hexdigest()
    reason = distrust(provenance)
    return Trust(not reason, reason, fingerprint, shown)


def distrust(provenance: Provenance) -> str:
    """Why a file is not simply the user's own, in words; empty: it is."""
    if not provenance.is_own:
        return "it belongs to another user"
    if provenance.writable_by_others:
        return "others may write to it"
    return "it is tracked by git, so others may have written it" if provenance.tracked else ""


def _shown(spec: BatchSpec) -> Iterator[str]:
    for line in spec.prepare:
        yield f"prepare: {json.dumps(line)}"
    for name, agent in sorted(spec.agents.items()):
        for words in _of_agent(agent):
            yield f"agent {name}: {words}"


def _of_agent(agent: Agent) -> Iterator[str]:
    if agent.command:
        yield f"command {json.dumps(agent.command)}"
    for name, value in sorted(agent.env.items()):
        yield f"environment {json.dumps(f'{name}={value}')}"
    for name in sorted(agent.pass_env):
        yield f"gets the variable {name}"
    if agent.base_url:
        yield f"address {agent.base_url}"
    if agent.api_key_env:
        yield f"gets the key in {agent.api_key_env}"


def provenance_of(path: Path) -> Provenance:
    """Looks at a file; where git is absent or knows nothing of it, it is not tracked.

    Raises:
        OSError: the file cannot be looked at.
    """
    real = Path(os.path.realpath(path))
    status = real.stat()
    return Provenance(
        is_own=status.st_uid == os.getuid(),
        writable_by_others=bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)),
        tracked=_is_tracked(real) is not False,
    )


def refuse_tracked_deck(deck: Path) -> None:
    """A deck that came with a repository may hold programs that somebody else wants to run.

    Raises:
        BadInput: git tracks its database.
    """
    database = deck / DATABASE
    if database.exists() and _is_tracked(database):
        raise BadInput(
            f"{database} is tracked by git, so others may have written what it runs. Take it out "
            f"of git (git rm --cached {DATABASE}), or use another deck (--deck)."
        )


def _is_tracked(path: Path) -> bool | None:
    """None: git cannot say. Nothing of the repository's own configuration is run for it."""
    if not any((folder / ".git").exists() for folder in path.parents):
        return False
    command = ["git", *_INERT, "ls-files", "--error-unmatch", "--", f":(literal){path.name}"]
    try:
        answer = subprocess.run(
            command,
            cwd=path.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return False  # no git
    except subprocess.TimeoutExpired:
        return True  # nobody knows: better asked once too often
    return {0: True, 1: False}.get(answer.returncode)


_INERT = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
"""What a repository may have run when it is only looked at."""
