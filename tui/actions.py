"""Every action once: bindings, palette, help, action bar and remapping are made of this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import ENDED, LIVE, Turn, TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.present.filtering import NO_FILTER, Filter
from batchdeck.tui.present.needs import needs
from batchdeck.tui.present.statuses import StatusRow


class Focus(StrEnum):
    """The parts of the deck's screen that keys can be meant for."""

    HEADLINE = "headline"
    STATUS = "status"
    AGENTS = "agents"
    TURNS = "turns"
    OUTPUT = "output"


EVERYWHERE = frozenset(Focus)
ROWS = frozenset({Focus.STATUS, Focus.AGENTS, Focus.TURNS})
ON_TURN = frozenset({Focus.TURNS, Focus.OUTPUT})
LIMITED = frozenset({Focus.HEADLINE, Focus.STATUS, Focus.AGENTS})


@dataclass(frozen=True, slots=True)
class Standpoint:
    """Where the operator is, and what their keys are about."""

    view: DeckView
    focus: Focus
    turn: Turn | None = None
    agent: str | None = None
    status: StatusRow | None = None
    filter: Filter = NO_FILTER
    read_only: bool = False


Off = Callable[[Standpoint], "str | None"]


def _always(at: Standpoint) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Action:
    """One thing an operator can do."""

    id: str
    label: str
    """One or two words, for the action bar and the palette."""
    help: str
    """One sentence."""
    keys: str
    """As Textual writes them, separated by commas."""
    shown: str
    """The keys as people read them."""
    group: str
    where: frozenset[Focus] = EVERYWHERE
    elsewhere: str = ""
    """What is said where it does not apply."""
    changes: bool = False
    """It changes the deck, so a read-only screen refuses it."""
    off: Off = _always
    in_bar: bool = False
    in_palette: bool = True


def why_off(action: Action, at: Standpoint) -> str | None:
    """Why an action cannot be done now, in one line; None: it can."""
    if action.changes and at.read_only:
        return f"{action.label}: this screen only looks on"
    if at.focus not in action.where:
        return f"{action.label}: {action.elsewhere}"
    reason = action.off(at)
    return None if reason is None else f"{action.label}: {reason}"


def _no_turn(at: Standpoint) -> str | None:
    return "there is no turn here" if at.turn is None else None


def _no_row(at: Standpoint) -> str | None:
    if at.focus is Focus.TURNS:
        return _no_turn(at)
    if at.focus is Focus.STATUS:
        return "there is no status here" if at.status is None else None
    return "there is no agent here" if at.agent is None else None


def _no_addressee(at: Standpoint) -> str | None:
    if at.focus is Focus.AGENTS:
        return _no_row(at)
    return _no_turn(at)


def _no_limit(at: Standpoint) -> str | None:
    if at.focus is Focus.HEADLINE:
        return None
    if at.focus is Focus.STATUS and at.status is not None and at.status.batch is None:
        return f"several batches have {at.status.status}; choose the row of one"
    return _no_row(at)


def _not_stoppable(at: Standpoint) -> str | None:
    turn = at.turn
    if turn is None:
        return _no_turn(at)
    if turn.state in ENDED:
        return f"#{turn.id} has ended: {turn.state}"
    return f"#{turn.id} is being stopped already" if turn.state is TurnState.STOPPING else None


def _not_retryable(at: Standpoint) -> str | None:
    turn = at.turn
    if turn is None:
        return _no_turn(at)
    task = None if turn.task is None else at.view.tasks.get(turn.task)
    if task is None:
        return f"#{turn.id} is a message, not a task; m writes it again"
    if turn.state in LIVE:
        return f"#{turn.id} still runs"
    if task.status in (Status.DONE, Status.MERGED):
        return f"{task.key} is {task.status}"
    return None


def _not_holdable(at: Standpoint) -> str | None:
    if at.focus is Focus.AGENTS:
        return _no_row(at)
    turn = at.turn
    if turn is None:
        return _no_turn(at)
    if turn.state is not TurnState.QUEUED:
        return f"#{turn.id} is {turn.state}; only what is queued can be held"
    return None


def _nothing_needed(at: Standpoint) -> str | None:
    return None if needs(at.view) else "nothing needs you"


_CHOOSE_LIMIT = "choose a status or an agent first (tab), or the headline for the whole deck"
_CHOOSE_TURN = "choose a turn first (tab)"

ACTIONS: tuple[Action, ...] = (
    Action(
        "open",
        "open",
        "Open the turn, or show the turns of this status or agent.",
        "enter",
        "enter",
        "look",
        ROWS,
        "choose a row first (tab)",
        off=_no_row,
        in_bar=True,
    ),
    Action(
        "message",
        "message",
        "Write to the agent, in this turn's conversation or in a new one.",
        "m",
        "m",
        "turn",
        ON_TURN | {Focus.AGENTS},
        "choose an agent or a turn first (tab)",
        changes=True,
        off=_no_addressee,
        in_bar=True,
    ),
    Action(
        "why",
        "why",
        "Show every gate that keeps this turn waiting, and what would free it.",
        "w",
        "w",
        "look",
        ON_TURN,
        _CHOOSE_TURN,
        off=_no_turn,
        in_bar=True,
    ),
    Action(
        "limit.raise",
        "limit",
        "Raise the limit under the cursor by one.",
        "plus",
        "+",
        "limits",
        LIMITED,
        _CHOOSE_LIMIT,
        changes=True,
        off=_no_limit,
    ),
    Action(
        "limit.lower",
        "limit",
        "Lower the limit under the cursor by one; nothing that runs is stopped.",
        "minus",
        "-",
        "limits",
        LIMITED,
        _CHOOSE_LIMIT,
        changes=True,
        off=_no_limit,
    ),
    Action(
        "stop",
        "stop",
        "Stop this turn, or cancel it while it is queued; asks first.",
        "x",
        "x",
        "turn",
        ON_TURN,
        _CHOOSE_TURN,
        changes=True,
        off=_not_stoppable,
        in_bar=True,
    ),
    Action(
        "hold",
        "hold",
        "Hold this queued turn or this agent, or release it.",
        "h",
        "h",
        "turn",
        ON_TURN | {Focus.AGENTS},
        "choose an agent or a turn first (tab); p holds the whole deck",
        changes=True,
        off=_not_holdable,
        in_bar=True,
    ),
    Action(
        "retry",
        "retry",
        "Start this task again; its attempts are counted anew.",
        "r",
        "r",
        "turn",
        ON_TURN,
        _CHOOSE_TURN,
        changes=True,
        off=_not_retryable,
    ),
    Action(
        "needs",
        "needs you",
        "Show what needs you, the oldest first, and answer it there.",
        "exclamation_mark",
        "!",
        "look",
        off=_nothing_needed,
        in_bar=True,
    ),
    Action(
        "filter",
        "filter",
        "Show only some turns: status:READY agent:coder !text.",
        "slash",
        "/",
        "look",
        in_bar=True,
    ),
    Action("events", "events", "Show what happened, the latest last.", "e", "e", "look"),
    Action(
        "copy",
        "copy",
        "Copy the row under the cursor, or the output that is marked.",
        "y",
        "y",
        "look",
    ),
    Action(
        "deck.hold",
        "hold deck",
        "Hold the whole deck, or release it: nothing new starts while it is held.",
        "p",
        "p",
        "deck",
        changes=True,
    ),
    Action(
        "deck.drain",
        "drain",
        "Admit nothing new and let what runs finish, or admit again.",
        "d",
        "d",
        "deck",
        changes=True,
    ),
    Action("help", "help", "Show every key.", "question_mark", "?", "program", in_bar=True),
    Action(
        "palette",
        "command",
        "Find and do anything by its name.",
        "colon,ctrl+p",
        ":",
        "program",
        in_bar=True,
        in_palette=False,
    ),
    Action(
        "next_part",
        "next part",
        "Go to the next part of the screen; shift+tab goes back.",
        "tab",
        "tab",
        "move",
        in_palette=False,
    ),
    Action(
        "previous_part",
        "previous part",
        "Go to the part of the screen before this one.",
        "shift+tab",
        "shift+tab",
        "move",
        in_palette=False,
    ),
    Action(
        "back",
        "back",
        "Go one layer back; here it clears the filter.",
        "escape",
        "esc",
        "move",
        in_palette=False,
    ),
    Action(
        "leave",
        "leave",
        "Leave; asks first while turns are running.",
        "q",
        "q",
        "program",
        in_bar=True,
    ),
)

BY_ID = {action.id: action for action in ACTIONS}

MOVES = (
    ("↓ j", "Next row."),
    ("↑ k", "Row before."),
    ("pgdn pgup", "A page on or back."),
    ("g home", "First row, whichever that is from now on."),
    ("G end", "Last row."),
)
"""The keys of tables and logs, which those widgets bind themselves."""
