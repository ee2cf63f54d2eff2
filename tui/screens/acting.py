"""A screen whose keys are the registry's actions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any

from textual.binding import Binding, BindingType

from batchdeck.core.model.turn import Turn
from batchdeck.core.view import DeckView
from batchdeck.tui.action import Action, Focus, Standpoint, why_off
from batchdeck.tui.actions import ACTIONS, BY_ID
from batchdeck.tui.keys import FIXED
from batchdeck.tui.performing import perform
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.hints import Hint
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.screens.live import LiveScreen, is_echo
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.virtual_table import VirtualTable

Step = Callable[[LimitChange, DeckView], "LimitChange | str"]
_PAIRS = {"limit.raise": "limit.lower", "queue.up": "queue.down"}
"""Two actions that the bar shows as one."""


def bindings_of(parts: Collection[Focus], *left_out: str) -> list[BindingType]:
    """The bindings of all actions but some that a screen with these parts has."""
    return [
        binding
        for action in ACTIONS
        if action.id not in left_out and not action.where.isdisjoint(parts)
        for binding in _bindings_of(action)
    ]


def _bindings_of(action: Action) -> list[BindingType]:
    if action.id not in FIXED:
        return [Binding(action.keys, f"do('{action.id}')", action.label, False, id=action.id)]
    # the key says what is done
    return [
        Binding(key, f"do('{action.id}', '{key}')", action.label, False)
        for key in action.keys.split(",")
    ]


_NO_LETTERS = ("back", "next_part", "previous_part")
TYPING_SECONDS = 1.0
"""After a pause of so long in the typing a key is meant as one."""


class ActingScreen(LiveScreen[None]):
    """Does what a key stands for, or says in one line why it cannot be done now."""

    _typed_at = -inf
    """When the latest letter of a message came that could not be opened (`time.monotonic`)."""
    _refusal = ""

    def offers(self, action_id: str) -> bool:
        """Whether the action has a key here."""
        return any(isinstance(b, Binding) and b.id == action_id for b in self.BINDINGS)

    @abstractmethod
    def standpoint(self) -> Standpoint:
        """Where the operator is, and what a key would be about."""

    def here(self, key: str = "") -> Standpoint:
        """The same with what is true of every screen. `key`: the one that was pressed."""
        table, app = self.table_of_keys(), self.deck_app
        return replace(
            self.standpoint(),
            key=key,
            past=app.in_past,
            read_only=app.settings.read_only,
            needing=len(self.scene.needs),
            slip=None if table is None else table.slip,
        )

    def table_of_keys(self) -> VirtualTable[Any] | None:
        """The table with the row that keys are about; None: they are about none."""
        return self.focused if isinstance(self.focused, VirtualTable) else None

    def hint(self, action_id: str, word: str = "") -> Hint:
        """An action as the bar shows it, with the key that the operator has for it."""
        return hint(action_id, self.deck_app.keys_of, word)

    def hints_for(self, part: Focus, *left_out: str) -> tuple[Hint, ...]:
        """The keys worth knowing in a part of the screen."""
        return hints_for(part, self.deck_app.keys_of, *left_out)

    def set_filter(self, text: str) -> None:
        """Shows only the turns that pass; an empty text shows all."""

    def go_to(self, part: Focus) -> None:
        """Brings a part into sight and gives it the focus."""

    def go_on(self, steps: int) -> None:
        """Goes to the next part, or with -1 to the one before."""
        if steps > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def go_back(self) -> None:
        """One layer back."""

    def sort(self) -> None:
        """Goes on to the next order."""

    def mark(self) -> None:
        """Marks what is under the cursor."""

    def mark_all(self) -> None:
        """Marks all that is shown, or nothing."""

    def unmark(self) -> bool:
        """Takes all marks away; whether there was one."""
        return False

    def expect_order(self) -> None:
        """Rows will change their places because the operator wants it."""

    def edit(self, turn: Turn) -> object:
        """Opens the text of a queued turn."""

    def ask_filter(self) -> None:
        """Lets the operator write a filter."""

    def say(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """One line for a few seconds."""
        self.query_one(ActionBar).say(text, tone)

    def change_limit(self, name: str, step: Step) -> None:
        """One step on a limit."""

    def _is_typed_on(self, action_id: str) -> bool:
        """Whether a key is a letter of the message that could not be opened: it does nothing.

        That ends with a pause, or with a key that is no letter.
        """
        if action_id in _NO_LETTERS or monotonic() - self._typed_at > TYPING_SECONDS:
            self._typed_at = -inf
            return False
        self._typed_at = monotonic()
        self.say(self._refusal, Tone.ALERT)
        return True

    def action_do(self, action_id: str, key: str = "") -> None:
        if action_id == "open" and is_echo(self.deck_app.finished_at):
            return  # a second enter that was meant for the dialog
        if self.deck_app.in_past and action_id == "back":
            self.deck_app.return_to_now()
            return
        if self._is_typed_on(action_id):
            return
        at = self.here(key)
        reason = why_off(BY_ID[action_id], at)
        if reason is not None:
            self.say(reason, Tone.ALERT)
            if action_id == "message":
                self._typed_at, self._refusal = monotonic(), reason
            return
        self.query_one(ActionBar).fall_silent()
        perform(self, action_id, at)


def hint(action_id: str, keys_of: Callable[[Action], str], word: str = "") -> Hint:
    """An action as the bar shows it; two that belong together as one."""
    action = BY_ID[action_id]
    keys = keys_of(action)
    if action_id in _PAIRS:
        keys = f"{keys.split()[0]} {keys_of(BY_ID[_PAIRS[action_id]]).split()[0]}"
    return keys, word or action.label


def hints_for(part: Focus, keys_of: Callable[[Action], str], *left_out: str) -> tuple[Hint, ...]:
    """The keys worth knowing in a part of a screen."""
    words = {"limit.raise": "deck's limit"} if part is Focus.HEADLINE else {}
    return tuple(
        hint(action.id, keys_of, words.get(action.id, ""))
        for action in ACTIONS
        if part in action.where
        and action.id not in left_out
        and (action.in_bar or action.id == "limit.raise")
    )
