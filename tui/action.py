"""An action: what an operator can do, from where, and why it cannot be done now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from batchdeck.core.model.turn import Turn
from batchdeck.core.view import DeckView
from batchdeck.tui.present.filtering import NO_FILTER, Filter
from batchdeck.tui.present.statuses import StatusRow


class Focus(StrEnum):
    """What keys can be meant for: a part of the deck's screen, or a screen of its own."""

    HEADLINE = "headline"
    STATUS = "status"
    AGENTS = "agents"
    TURNS = "turns"
    OUTPUT = "output"
    LIMITS = "limits"
    QUEUE = "queue"
    ITEMS = "items"


DECK_PARTS = (Focus.HEADLINE, Focus.STATUS, Focus.AGENTS, Focus.TURNS, Focus.OUTPUT)
"""The parts of the deck's screen, in the order of tab."""
EVERYWHERE = frozenset(Focus)
ROWS = frozenset({Focus.STATUS, Focus.AGENTS, Focus.TURNS, Focus.ITEMS})
ON_TURN = frozenset({Focus.TURNS, Focus.OUTPUT, Focus.QUEUE, Focus.ITEMS})
LIMITED = frozenset({Focus.HEADLINE, Focus.STATUS, Focus.AGENTS, Focus.LIMITS, Focus.ITEMS})


@dataclass(frozen=True, slots=True)
class Standpoint:
    """Where the operator is, and what their keys are about."""

    view: DeckView
    focus: Focus
    turn: Turn | None = None
    marked: tuple[Turn, ...] = ()
    """Turns that are marked; keys are then about these."""
    agent: str | None = None
    status: StatusRow | None = None
    limit: str | None = None
    """The full name of the limit under the cursor."""
    filter: Filter = NO_FILTER
    key: str = ""
    """Which key was pressed, where that says what is done."""
    read_only: bool = False
    past: bool = False
    """What is seen is not there any more."""
    needing: int = 0
    """How many things need a person."""
    slip: str | None = None
    """That what is under the cursor has come there by itself this very moment, in words."""

    @property
    def chosen(self) -> tuple[Turn, ...]:
        """The turns that a key is about: those marked, else the one under the cursor."""
        if self.marked:
            return self.marked
        return () if self.turn is None else (self.turn,)


Off = Callable[[Standpoint], "str | None"]


def always(at: Standpoint) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Action:
    """One thing an operator can do."""

    id: str
    label: str
    """One or two words, for the action bar and the palette."""
    keys: str
    """As Textual writes them, separated by commas."""
    group: str
    help: str
    """One sentence."""
    where: frozenset[Focus] = EVERYWHERE
    elsewhere: str = ""
    """What is said where it does not apply."""
    off: Off = always
    changes: bool = False
    """It changes the deck, so a read-only screen refuses it."""
    changes_in: frozenset[Focus] = frozenset()
    """The parts where it does so though it only looks elsewhere."""
    at_once: bool = False
    """It is done to the row under the cursor without a question or a form before."""
    in_bar: bool = False
    in_palette: bool = True
    own_shown: str = ""
    """The keys as people read them, where that is not simply each of them."""

    @property
    def shown(self) -> str:
        return self.own_shown or readable(self.keys.split(","))


def why_off(action: Action, at: Standpoint) -> str | None:
    """Why an action cannot be done now, in one line; None: it can."""
    changes = action.changes or at.focus in action.changes_in
    if changes and at.past:
        return f"{action.label}: this is how it was; esc returns to now"
    if changes and at.read_only:
        return f"{action.label}: this screen only looks on"
    if action.at_once and at.slip is not None and not at.marked:
        return f"{action.label}: {at.slip}"
    if at.focus not in action.where:
        return f"{action.label}: {action.elsewhere}"
    reason = action.off(at)
    return None if reason is None else f"{action.label}: {reason}"


def readable(keys: list[str]) -> str:
    """Keys as people read them: `question_mark` is `?`."""
    return " ".join(_READABLE.get(key, key) for key in keys)


_READABLE = {
    "question_mark": "?",
    "exclamation_mark": "!",
    "slash": "/",
    "colon": ":",
    "plus": "+",
    "minus": "-",
    "escape": "esc",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}
