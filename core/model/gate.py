"""A gate: one reason a turn may not start now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class GateName(StrEnum):
    """In the order of display, which is also the order in which one is the primary reason."""

    HOLD = "hold"
    BUDGET = "budget"
    COOLDOWN = "cooldown"
    NOT_BEFORE = "not_before"
    DEPENDS_ON = "depends_on"
    TARGET = "target"
    CONVERSATION = "conversation"
    AGENT = "agent"
    FOLDER = "folder"
    STATUS = "status"
    BATCH = "batch"
    GLOBAL = "global"
    ITEMS = "items"
    ATTENTION = "attention"


CAPACITY = frozenset({GateName.GLOBAL, GateName.BATCH, GateName.STATUS, GateName.AGENT})
"""The gates that a forced turn may pass."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A turn that keeps a gate shut."""

    turn: int
    task: str | None
    since_ms: int
    """When it started (running) or was queued."""
    forced: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate as it stands for one turn."""

    name: GateName
    open: bool
    subject: str = ""
    """Whose gate: the agent's, batch's or lane's name, the folder's path, the target's key."""
    used: int | None = None
    limit: int | None = None
    holders: tuple[Holder, ...] = ()
    frees: str = ""
    """What would open it, in words; empty where it is open."""
    passable: bool = False
    """Shut, and a person may force a turn past it."""
    place: str = ""
    """The folder that is occupied, where that is a parent or a child of the turn's own."""
