"""The operator's own keys: checked against the registry, faults reported and left out."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from textual.binding import Binding
from textual.keys import _character_to_key

from batchdeck.tui.action import Focus, readable
from batchdeck.tui.actions import ACTIONS, BY_ID

_MOVES = frozenset(
    {"up", "down", "left", "right", "pageup", "pagedown", "home", "end", "j", "k", "g", "G"}
)
"""Keys that tables and logs bind themselves."""
_IN_LOGS = frozenset({"n", "N", "W", "T"})
"""Keys that outputs and conversations bind themselves."""
_LOGS = frozenset({Focus.TURNS, Focus.OUTPUT})
"""Where there is such a one: a turn's own screen has the keys of its row."""
FIXED = frozenset({"limit.type"})
"""Actions whose keys say what is done: digits stay digits."""


def read_keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """A keymap that can be used, and in words what of `wanted` cannot.

    Args:
        wanted: Keys by an action's id, several of them separated by commas.
    """
    good, faults = checked_keymap(wanted)
    return good, [f"keymap: {fault}" for fault in faults.values()]


def checked_keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Of a keymap what can be used, and for every other action in words why it cannot.

    What counts are the keys as they all are in the end: two actions may swap theirs.
    """
    faults = {name: fault for name, keys in wanted.items() if (fault := _fault(name, keys))}
    good = {name: ",".join(_split(keys)) for name, keys in wanted.items() if name not in faults}
    # one that is left out has its old keys again, and another may have taken them
    while clash := next(filter(None, (_clash(name, good) for name in reversed(good))), None):
        name, faults[name] = clash
        del good[name]
    return good, {name: faults[name] for name in wanted if name in faults}


def _fault(action_id: str, keys: object) -> str | None:
    if action_id not in BY_ID:
        near = get_close_matches(str(action_id), BY_ID, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"there is no action {str(action_id)!r}{hint}"
    if action_id in FIXED:
        return f"{action_id} keeps its keys"
    return None if isinstance(keys, str) and _split(keys) else f"{action_id} needs a key"


def _clash(action_id: str, good: Mapping[str, str]) -> tuple[str, str] | None:
    """The action, and in words why it cannot have its keys beside those of all others."""
    taken = _taken(action_id, good)
    key = next((key for key in good[action_id].split(",") if key in taken), None)
    return None if key is None else (action_id, f"{key} for {action_id} is already {taken[key]}")


def _taken(action_id: str, good: Mapping[str, str]) -> dict[str, str]:
    """Which action has each key, apart from `action_id` itself."""
    where = BY_ID[action_id].where
    taken = dict.fromkeys(_MOVES, "a move")
    if not where.isdisjoint(_LOGS):
        taken.update(dict.fromkeys(_IN_LOGS, "a key of outputs"))
    for action in ACTIONS:
        # a key may mean one thing in the queue and another one elsewhere
        if action.id != action_id and not where.isdisjoint(action.where):
            keys = good.get(action.id, action.keys)
            taken.update(dict.fromkeys(_split(keys), action.id))
    return taken


def _split(keys: str) -> list[str]:
    """The keys by the names that Textual gives them."""
    parts = [part.strip() for part in keys.split(",")]
    return [_character_to_key(part) if len(part) == 1 else part for part in parts if part]


def shown_keys(binding_keys: str) -> str:
    """Keys as people read them: `question_mark` is `?`."""
    return readable([Binding(key, "").key for key in _split(binding_keys)])
