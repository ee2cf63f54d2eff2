"""An account: what agents share whose usage one provider counts together, and its pauses."""

from __future__ import annotations

from dataclasses import dataclass

from batchdeck.core.model.agent import Agent


def account_of(agent: Agent) -> str:
    """The account that an agent uses; one that names none has its own, called like itself."""
    return agent.account or agent.name


@dataclass(frozen=True, slots=True)
class UsageLimit:
    """What a program or a server said when its account was used up.

    At most one of the three ways to name the reset is there; none: it was not said.
    """

    words: str
    """One clean line, for people."""
    at_ms: int | None = None
    """The moment of the reset, UTC."""
    after_seconds: float | None = None
    """How long until then, from when it was said."""
    time_of_day: tuple[int, int] | None = None
    """Hour and minute; the next such moment is meant."""
    zone: str | None = None
    """Whose time of day: a name of the tz database; None: this machine's."""


@dataclass(frozen=True, slots=True)
class Cooldown:
    """An account that is used up: nothing starts before `until_ms`, then one turn tries it."""

    account: str
    until_ms: int
    since_ms: int
    reason: str = ""
    windows: int = 1
    """How often in a row it was found used up, the turns that tried it included."""
    probe: int | None = None
    """The turn that tries it now or tried it last."""
