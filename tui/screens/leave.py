"""The question on leaving while turns are running."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button

from batchdeck.core.text import counted
from batchdeck.core.view import DeckView
from batchdeck.tui.leaving import How, cannot_go_on
from batchdeck.tui.present.parting import half_added_words
from batchdeck.tui.screens.confirm import ConfirmScreen
from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.choice import Choice

_MOST_NAMED = 3
_WIDE, _FRAME = 100, 6
"""From which width on each choice has one line; what is lost of it below that."""
_MEANINGS = {
    "drain": "admit nothing new, leave when they have ended",
    "stop_all": "end them now (asks again)",
}


class LeaveScreen(LiveModal[How | None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "choose('drain')", "Drain", show=False),
        Binding("s", "choose('stop_all')", "Stop all", show=False),
        Binding("escape,q", "choose('stay')", "Stay", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="dialog"):
            yield Choice("Detach  ", "enter", id="detach")
            yield Choice("Drain   ", "d", id="drain")
            yield Choice("Stop all", "s", id="stop_all")
            yield Choice("Stay    ", "esc", id="stay")

    def on_mount(self) -> None:
        self.query_one("#detach", Choice).focus()

    def watch_scene(self) -> None:
        if self.ready:
            self._retitle()

    def on_resize(self) -> None:
        self._retitle()

    def _retitle(self) -> None:
        running = self.deck_app.deck.view.running
        words = Content(
            "1 turn is running" if running == 1 else f"{running or 'No'} turns are running"
        )
        dialog = self.query_one("#dialog")
        if dialog.border_title != words.markup:
            dialog.border_title = words
        below = 0 if self.size.width >= _WIDE else self.size.width - _FRAME
        told = {"detach": detach_words(self.deck_app.deck.view), **_MEANINGS}
        for choice, meaning in told.items():
            self.query_one(f"#{choice}", Choice).say_more(meaning, below)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_choose(event.button.id or "stay")

    def action_choose(self, choice: str) -> None:
        if choice == "stay":
            self.dismiss(None)
        elif choice == "stop_all":
            running = self.deck_app.deck.view.running
            self.deck_app.open(
                ConfirmScreen(f"Stop all {counted(running, 'running turn')}?", "", "Stop all", "s"),
                self._stop_if_sure,
            )
        else:
            self.dismiss(How(choice))

    def _stop_if_sure(self, sure: bool | None) -> None:
        if sure:
            self.dismiss(How.STOP_ALL)


def detach_words(view: DeckView) -> str:
    """`3 go on, #440 (openai) cannot; nothing new starts`"""
    stay = cannot_go_on(view)
    named = [f"#{turn.id} ({view.agents[turn.agent].kind})" for turn in stay[:_MOST_NAMED]]
    if len(stay) > _MOST_NAMED:
        named.append(f"{len(stay) - _MOST_NAMED} more")
    going = view.running - len(stay)
    parts = [f"{going} go{'es' * (going == 1)} on"] if going or not stay else []
    if named:
        parts.append(f"{', '.join(named)} cannot")
    return f"{', '.join(parts)}; nothing new starts{half_added_words(view)}"
