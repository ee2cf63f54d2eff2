"""The operator's own keys: checked against the registry, faults reported and left out."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from textual.binding import Binding
from textual.keys import _character_to_key

from batchdeck.tui.action import readable
from batchdeck.tui.actions import ACTIONS, BY_ID

_MOVES = frozenset(
    {"up", "down", "left", "right", "pageup", "pagedown", "home", "end", "j", "k", "g", "G"}
)
"""Keys that tables and logs bind themselves."""
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
    """Of a keymap what can be used, and for every other action in words why it cannot."""
    good: dict[str, str] = {}
    faults: dict[str, str] = {}
    for action_id, keys in wanted.items():
        fault = _fault(action_id, keys, good)
        if fault is None:
            good[action_id] = ",".join(_split(keys))
        else:
            faults[action_id] = fault
    return good, faults


def _fault(action_id: str, keys: object, good: Mapping[str, str]) -> str | None:
    if action_id not in BY_ID:
        near = get_close_matches(str(action_id), BY_ID, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"there is no action {str(action_id)!r}{hint}"
    if action_id in FIXED:
        return f"{action_id} keeps its keys"
    if not isinstance(keys, str) or not _split(keys):
        return f"{action_id} needs a key"
    taken = _taken(action_id, good)
    clash = next((key for key in _split(keys) if key in taken), None)
    return None if clash is None else f"{clash} for {action_id} is already {taken[clash]}"


def _taken(action_id: str, good: Mapping[str, str]) -> dict[str, str]:
    """Which action has each key, apart from `action_id` itself."""
    taken = dict.fromkeys(_MOVES, "a move")
    where = BY_ID[action_id].where
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
