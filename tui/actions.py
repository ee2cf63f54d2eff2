"""Every action once: bindings, palette, help, action bar and remapping are made of this."""

from __future__ import annotations

from batchdeck.tui import reasons
from batchdeck.tui.action import EVERYWHERE, LIMITED, ON_TURN, ROWS, Action, Focus

_CHOOSE_LIMIT = "choose a status or an agent first (tab), or L for all limits"
_CHOOSE_TURN = "choose a turn first (tab)"
_ON_TURN_OR_AGENT = ON_TURN | {Focus.AGENTS}
_MARKED = frozenset({Focus.TURNS, Focus.QUEUE})
_QUEUE = frozenset({Focus.QUEUE})

# fmt: off
_LOOKING = (
    Action("open", "open", "enter", "look",
           "Open the turn, or show the turns of this status or agent.",
           ROWS | {Focus.QUEUE, Focus.LIMITS}, "choose a row first (tab)", reasons.no_row,
           changes_in=frozenset({Focus.QUEUE}), in_bar=True),
    Action("why", "why", "w", "look",
           "Show every gate that keeps this turn waiting, and what would free it.",
           ON_TURN, _CHOOSE_TURN, reasons.no_turn, in_bar=True),
    Action("needs", "needs you", "exclamation_mark", "look",
           "Show what needs you, the oldest first, and answer it there.",
           off=reasons.nothing_needed, in_bar=True),
    Action("filter", "filter", "slash", "look",
           "Show only some turns: status:READY agent:coder !text; in an output, find.",
           in_bar=True),
    Action("sort", "sort", "s", "look",
           "Sort the turns by need, agent, place, state or latest change.",
           frozenset({Focus.TURNS}), _CHOOSE_TURN),
    Action("queue", "queue", "Q", "look",
           "Show the queue in the order of service, and operate on it.", in_bar=True),
    Action("folders", "folders", "f", "look",
           "Show the folders: who occupies what, and who waits for it.",
           EVERYWHERE - {Focus.QUEUE}),
    Action("matrix", "matrix", "M", "look",
           "Show status by agent: what runs and what waits in each cell."),
    Action("items", "items", "i", "look",
           "Show the items of each foreach: steps, writes, limits, the barrier.",
           off=reasons.no_items),
    Action("events", "events", "e", "look", "Show what happened, the latest last."),
    Action("time.back", "earlier", "left_square_bracket", "look",
           "Show the deck as it was; esc returns to now."),
    Action("time.on", "later", "right_square_bracket", "look", "Go forward again in time."),
    Action("copy", "copy", "y", "look",
           "Copy the row under the cursor, or the output that is marked."),
)
_ON_TURNS = (
    Action("message", "message", "m", "turn",
           "Write to the agent, in this turn's conversation or in a new one.",
           _ON_TURN_OR_AGENT, "choose an agent or a turn first (tab)", reasons.no_addressee,
           changes=True, in_bar=True),
    Action("stop", "stop", "x", "turn",
           "Stop this turn, or cancel it while it is queued; asks first.",
           ON_TURN, _CHOOSE_TURN, reasons.not_stoppable, changes=True, in_bar=True),
    Action("hold", "hold", "h", "turn", "Hold this queued turn or this agent, or release it.",
           _ON_TURN_OR_AGENT,
           "choose an agent or a turn first (tab); p holds the whole deck",
           reasons.not_holdable, changes=True, at_once=True, in_bar=True),
    Action("block", "block", "b", "turn",
           "Keep this task waiting until a question about it is answered.",
           ON_TURN, _CHOOSE_TURN, reasons.not_blockable, changes=True),
    Action("retry", "retry", "r", "turn",
           "Start this task again; its attempts are counted anew.",
           ON_TURN, _CHOOSE_TURN, reasons.not_retryable, changes=True, at_once=True),
)
_SEVERAL = (
    Action("mark", "mark", "space", "turn",
           "Mark this turn: the keys are then about all that are marked.",
           _MARKED, _CHOOSE_TURN, reasons.no_row, at_once=True, in_palette=False),
    Action("mark.all", "mark all", "V", "turn", "Mark every turn that is shown, or none.",
           _MARKED, _CHOOSE_TURN, reasons.no_row),
    Action("undo", "undo", "u", "deck",
           "Take the latest change back: a limit, a move, a hold, a deletion.", changes=True),
)
_ON_QUEUE = (
    Action("queue.up", "move up", "K,shift+up", "queue",
           "Move it up among its agent's turns.", _QUEUE, off=reasons.no_turn, changes=True,
           at_once=True,
           own_shown="K"),
    Action("queue.down", "move down", "J,shift+down", "queue",
           "Move it down among its agent's turns.", _QUEUE, off=reasons.no_turn, changes=True,
           at_once=True,
           own_shown="J"),
    Action("queue.now", "send now", "f", "queue",
           "Start it past the limits that are full; asks first.", _QUEUE,
           off=reasons.not_one, changes=True, at_once=True, in_bar=True),
    Action("queue.merge", "merge", "c", "queue", "Make one message of those that are marked.",
           _QUEUE, off=reasons.not_mergeable, changes=True, in_bar=True),
    Action("queue.retarget", "give to", "a", "queue", "Give it to another agent.", _QUEUE,
           off=reasons.no_turn, changes=True, in_bar=True),
)
_LIMITS = (
    Action("limit.raise", "limit", "plus", "limits",
           "Raise the limit under the cursor; what that starts is shown first.",
           LIMITED, _CHOOSE_LIMIT, reasons.no_limit, changes=True, at_once=True),
    Action("limit.lower", "limit", "minus", "limits",
           "Lower the limit under the cursor; nothing that runs is stopped.",
           LIMITED, _CHOOSE_LIMIT, reasons.no_limit, changes=True, at_once=True),
    Action("limit.type", "limit", "0,1,2,3,4,5,6,7,8,9", "limits",
           "Give the limit under the cursor a number; 0 closes it.",
           LIMITED, _CHOOSE_LIMIT, reasons.no_limit, changes=True, at_once=True, in_palette=False,
           own_shown="0 to 9"),
    Action("limits", "all limits", "L", "limits",
           "Show every limit with what waits behind it, and change it there."),
    Action("limit.none", "no limit", "n", "limits",
           "Take the limit under the cursor away: the next wider one applies.",
           LIMITED, _CHOOSE_LIMIT, reasons.no_need_of_limit, changes=True, at_once=True),
)
_DECK = (
    Action("deck.hold", "hold deck", "p", "deck",
           "Hold the whole deck, or release it: nothing new starts while it is held.",
           changes=True),
    Action("deck.drain", "drain", "d", "deck",
           "Admit nothing new and let what runs finish, or admit again.", changes=True),
    Action("agent.edit", "edit agent", "E", "deck",
           "Change this agent: kind, command, limit, folder; queued turns take it.",
           frozenset({Focus.AGENTS}), "choose an agent first (tab)", reasons.no_row, changes=True),
    Action("permissions", "permissions", "P", "deck",
           "Show what agents may always do without asking, and take it back.",
           off=reasons.nothing_allowed, changes=True),
    Action("agent.add", "add agent", "A", "deck", "Add an agent to the deck.", changes=True),
    Action("reconcile", "reconcile", "R", "deck",
           "Look at once for what was done elsewhere: tasks, blockers, issues.", changes=True),
)
_PROGRAM = (
    Action("help", "help", "question_mark", "program", "Show every key.", in_bar=True),
    Action("palette", "command", "colon,ctrl+p", "program", "Find and do anything by its name.",
           in_bar=True, in_palette=False, own_shown=":"),
    Action("next_part", "next part", "tab", "move",
           "Go to the next part of the screen; shift+tab goes back.", in_palette=False),
    Action("previous_part", "previous part", "shift+tab", "move",
           "Go to the part of the screen before this one.", in_palette=False),
    Action("back", "back", "escape", "move", "Go one layer back; here it clears the filter.",
           in_palette=False),
    Action("leave", "leave", "q", "program", "Leave; asks first while turns are running.",
           in_bar=True),
)
# fmt: on

ACTIONS: tuple[Action, ...] = (
    *_LOOKING,
    *_ON_TURNS,
    *_SEVERAL,
    *_ON_QUEUE,
    *_LIMITS,
    *_DECK,
    *_PROGRAM,
)
"""In the order in which the action bar and help name them."""

BY_ID = {action.id: action for action in ACTIONS}

MOVES = (
    ("↓ j", "Next row."),
    ("↑ k", "Row before."),
    ("pgdn pgup", "A page on or back."),
    ("g home", "First row, whichever that is from now on."),
    ("G end", "Last row."),
    ("n N", "In an output: the next line with what was found, the one before."),
    ("W", "In an output: long lines go on in the next row."),
    ("T", "In an output: what the agent told, or as its program wrote it."),
)
"""The keys of tables and logs, which those widgets bind themselves."""
