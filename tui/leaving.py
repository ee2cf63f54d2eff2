"""How the operator left, for whoever opened the screen to act upon."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.turn import Turn
from batchdeck.core.view import DeckView


class How(StrEnum):
    DETACH = "detach"
    """What runs under a runner goes on; nothing new starts."""
    DRAIN = "drain"
    """Nothing runs any more; it was waited for."""
    STOP_ALL = "stop_all"
    """End everything that runs, now."""


@dataclass(frozen=True, slots=True)
class Leave:
    how: How


_DIES_WITH_US = frozenset({AgentKind.OPENAI, AgentKind.ACP, AgentKind.DEMO})


def cannot_go_on(view: DeckView) -> tuple[Turn, ...]:
    """The running turns whose agents have no runner of their own to outlive the supervisor."""
    live = [view.turns[turn] for turn in view.live if turn in view.turns]
    return tuple(turn for turn in live if _kind(view, turn) in _DIES_WITH_US)


def are_lost(view: DeckView) -> tuple[Turn, ...]:
    """Those among them that do not simply begin again: they may have changed anything by then."""
    return tuple(turn for turn in cannot_go_on(view) if _kind(view, turn) is AgentKind.ACP)


def _kind(view: DeckView, turn: Turn) -> AgentKind | None:
    agent = view.agents.get(turn.agent)
    return None if agent is None else agent.kind
