"""Every key and what it does, with a filter."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from batchdeck.tui.action import Action, Focus
from batchdeck.tui.actions import ACTIONS, MOVES
from batchdeck.tui.present.columns import COLUMNS
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

    def _show(self, wanted: str) -> None:
        lines: list[Content] = []
        for group, title in _GROUPS.items():
            found = [line for line in self._lines_of(group) if wanted in line.plain.lower()]
            if found:
                lines += [Content.styled(title, "bold"), *found, Content("")]
        columns = [_key_line(name, words, True) for name, words in COLUMNS]
        found = [line for line in columns if wanted in line.plain.lower()]
        if found:
            lines += [Content.styled("What the columns count", "bold"), *found, Content("")]
        shown = Content("\n").join(lines) if lines else Content("Nothing is called so.")
        self.query_one("#keys", Static).update(shown)

    def _lines_of(self, group: str) -> list[Content]:
        lines = [self._line(action) for action in ACTIONS if action.group == group]
        if group == "move":
            lines += [_key_line(keys, words, True) for keys, words in MOVES]
        return lines

    def _line(self, action: Action) -> Content:
        keys = self.deck_app.keys_of(action)
        return _key_line(keys, action.help, self._focus in action.where)


def _key_line(keys: str, words: str, counts_here: bool) -> Content:
    """A key that does not count in the focused part is shown dimmed."""
    style = "" if counts_here else "$status-muted"
    return Content.assemble((f"  {keys:<{_KEY_WIDTH}}", "$key-colour bold"), (words, style))
