"""Every key and what it does, with a filter."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from batchdeck.tui.action import Focus
from batchdeck.tui.actions import ACTIONS, MOVES
from batchdeck.tui.present.columns import COLUMNS
from batchdeck.tui.present.fitting import in_lines
from batchdeck.tui.screens.live import LiveModal

_GROUPS = {
    "turn": "The turn under the cursor",
    "queue": "In the queue (Q)",
    "limits": "Limits",
    "look": "Looking",
    "deck": "The deck",
    "move": "Moving",
    "program": "The program",
}
_KEY_WIDTH = 11
_WIDTH, _FRAME = 90, 5
"""Of the dialog, as the style sheet has it: its width, and what frame and scrollbar take of it."""


class _Key(NamedTuple):
    keys: str
    words: str
    counts_here: bool


class HelpScreen(LiveModal[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("pagedown", "scroll(8)", show=False),
        Binding("pageup", "scroll(-8)", show=False),
    ]

    def __init__(self, focus: Focus) -> None:
        super().__init__()
        self._focus = focus

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -high") as dialog:
            dialog.border_title = Content("help")
            dialog.border_subtitle = Content("type to find · esc back")
            find = Input(placeholder="find a key or an action", compact=True, id="find")
            find.cursor_blink = False
            yield find
            with VerticalScroll(can_focus=False, id="scroll"):
                yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._show("")

    @on(Input.Changed)
    def _find(self, event: Input.Changed) -> None:
        event.stop()
        self._show(event.value.strip().lower())

    @on(Input.Submitted)
    def _close(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss()

    def action_scroll(self, lines: int) -> None:
        self.query_one("#scroll", VerticalScroll).scroll_relative(y=lines, animate=False)

    def on_resize(self) -> None:
        self._show(self.query_one(Input).value.strip().lower())

    def _show(self, wanted: str) -> None:
        lines: list[Content] = []
        for group, title in _GROUPS.items():
            lines += self._section(title, self._keys_of(group), wanted)
        columns = [_Key(name, words, True) for name, words in COLUMNS]
        lines += self._section("What the columns count", columns, wanted)
        shown = Content("\n").join(lines) if lines else Content("Nothing is called so.")
        self.query_one("#keys", Static).update(shown)

    def _section(self, title: str, keys: list[_Key], wanted: str) -> list[Content]:
        found = [key for key in keys if wanted in f"{key.keys} {key.words}".lower()]
        if not found:
            return []
        room = min(_WIDTH, self.size.width) - _FRAME
        return [
            Content.styled(title, "bold"),
            *(_key_line(key, room) for key in found),
            Content(""),
        ]

    def _keys_of(self, group: str) -> list[_Key]:
        keys = [
            _Key(self.deck_app.keys_of(action), action.help, self._focus in action.where)
            for action in ACTIONS
            if action.group == group
        ]
        if group == "move":
            keys += [_Key(names, words, True) for names, words in MOVES]
        return keys


def _key_line(key: _Key, room: int) -> Content:
    """A key that does not count in the focused part is shown dimmed."""
    style = "" if key.counts_here else "$status-muted"
    first, *rest = in_lines(key.words, max(10, room - _KEY_WIDTH - 2), 9)
    named = f"  {key.keys:<{_KEY_WIDTH}}"
    lines = [Content.assemble((named, "$key-colour bold"), (first, style))]
    lines += [Content.styled(" " * len(named) + line, style) for line in rest]
    return Content("\n").join(lines)
