"""What needs the operator, the oldest first; each can be dealt with here."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from batchdeck.core.commands import ReleaseHold, RetryTask
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import Turn
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.durations import waited
from batchdeck.tui.present.needs import Need, NeedKind
from batchdeck.tui.present.whole import last_width, lines_needed, whole_lines
from batchdeck.tui.questions import of_ask, of_blocker
from batchdeck.tui.screens.answer import AnswerScreen
from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.virtual_table import VirtualTable

_COLUMNS = (
    Column("", 1),
    Column("what", 5),
    Column("turn", 5),
    Column("task", 9, drop=2),
    Column("for", 7, drop=1),
    Column("words", 18, most=ANY_WIDTH),
)
_WIDTH, _FRAME, _FRAME_LINES = 100, 4, 4
"""Of the dialog as the style sheet has it: its width, what the frame takes of it; the lines of the
frame, the heading and the keys."""
_LEAST_ROWS, _MOST_ROWS = 3, 19
_WORDS = {
    NeedKind.FAULT: "fault",
    NeedKind.ASK: "asks",
    NeedKind.BLOCKER: "waits",
    NeedKind.LOST: "lost",
    NeedKind.HOLD: "hold",
    NeedKind.COOLDOWN: "cools",
    NeedKind.BUDGET: "spent",
    NeedKind.NOTE: "note",
}
_SIGNS = {
    NeedKind.FAULT: "✗",
    NeedKind.ASK: "?",
    NeedKind.BLOCKER: "?",
    NeedKind.LOST: "!",
    NeedKind.HOLD: "‖",
    NeedKind.COOLDOWN: "◷",
    NeedKind.BUDGET: "!",
    NeedKind.NOTE: "·",
}
_KEYS = {
    NeedKind.FAULT: "esc back",
    NeedKind.ASK: "enter answer · o open the turn · esc back",
    NeedKind.BLOCKER: "enter answer · o open the turn · esc back",
    NeedKind.LOST: "enter open the turn · r try it again · esc back",
    NeedKind.HOLD: "h release · esc back",
    NeedKind.COOLDOWN: "h use it again at once · esc back",
    NeedKind.BUDGET: "h allow as much again · esc back",
    NeedKind.NOTE: "esc back",
}
_LOST_MESSAGE_KEYS = "enter open the turn (m there writes to it again) · esc back"
_RELEASED = {
    NeedKind.COOLDOWN: "may be used again",
    NeedKind.BUDGET: "is raised by as much again",
}


class NeedTable(VirtualTable[str]):
    """The needs by their key."""


class NeedsScreen(LiveModal[None]):
    AUTO_FOCUS = "NeedTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", show=False),
        Binding("enter", "deal_with", "Answer", show=False),
        Binding("exclamation_mark", "next", "Next", show=False),
        Binding("h", "release", "Release", show=False),
        Binding("r", "retry", "Retry", show=False),
        Binding("o", "open_turn", "Open the turn", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._needs: dict[str, Need] = {}
        self._room, self._lines = 0, 0
        """How wide and how many the lines below the table are."""
        self._keys_for: Need | None = None
        """The one whose keys were said last; what is said beside stays until that is another."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content("needs you")
            yield NeedTable(_COLUMNS, id="needs")
            yield Static(id="whole", markup=False)
            yield Static(id="words", markup=False)

    def on_resize(self) -> None:
        self._show()

    def on_mount(self) -> None:
        self.query_one(NeedTable).empty_words = "nothing needs you any more"
        self._show()

    def watch_scene(self) -> None:
        if self.ready:
            self._show()

    def _show(self) -> None:
        self._needs = {need.key: need for need in self.scene.needs}
        self._make_room()
        self.query_one(NeedTable).show(list(self._needs), self._row_of)
        self._say_keys()

    def _make_room(self) -> None:
        """For the longest text below the table, and for as many rows as that leaves."""
        width, height = min(_WIDTH, self.size.width) - _FRAME, self.size.height - _FRAME_LINES
        texts = [self._words_of(need) for need in self._needs.values()]
        most = height - min(len(texts), _LEAST_ROWS)
        self._room = width
        self._lines = lines_needed(texts, last_width(_COLUMNS, width), width, most)
        rows = max(1, min(_MOST_ROWS, height - self._lines))
        self.query_one(NeedTable).styles.max_height = rows + 1

    def _row_of(self, key: str) -> Row | None:
        need = self._needs.get(key)
        if need is None:
            return None
        tone = Tone.NEEDS if need.urgent else Tone.HELD
        turn = self._turn(need)
        since = waited(self.scene.now_ms - need.since_ms) if need.since_ms else ""
        return (
            Cell(_SIGNS[need.kind], tone),
            Cell(_WORDS[need.kind], tone),
            Cell("" if need.turn is None else f"#{need.turn}"),
            Cell("" if turn is None else self.scene.name_of(turn)),
            Cell(since),
            Cell(self._words_of(need)),
        )

    def _words_of(self, need: Need) -> str:
        subject = need.hold if need.hold and self._turn(need) is None else ""
        return f"{subject} {need.words}".strip()

    def _turn(self, need: Need) -> Turn | None:
        return None if need.turn is None else self.scene.view.turns.get(need.turn)

    @property
    def _need(self) -> Need | None:
        """The one under the cursor."""
        key = self.query_one(NeedTable).cursor_key
        return None if key is None else self._needs.get(key)

    @on(VirtualTable.Moved)
    def _say_keys(self) -> None:
        if not self.ready:
            return
        need = self._need
        if need is None or need != self._keys_for:
            self._say("esc back" if need is None else self._keys(need))
        self._keys_for = need
        whole = "" if need is None else self._words_of(need)
        self._put("#whole", whole_lines(whole, self._room, self._lines))
        self.query_one("#whole").display = bool(self._lines)

    def _keys(self, need: Need) -> str:
        is_message = need.kind is NeedKind.LOST and self._task_of(need) is None
        return _LOST_MESSAGE_KEYS if is_message else _KEYS[need.kind]

    def _task_of(self, need: Need) -> Task | None:
        turn = self._turn(need)
        return None if turn is None else self.scene.task_of(turn)

    def _say(self, words: str) -> None:
        self._put("#words", words)

    def _put(self, selector: str, words: str) -> None:
        place, content = self.query_one(selector, Static), Content(words)
        if place.content != content:
            place.update(content)

    # what the operator does

    @on(VirtualTable.Opened)
    def action_deal_with(self) -> None:
        need = self._need
        if need is not None and need.kind is NeedKind.LOST:
            self.action_open_turn()
            return
        if need is None or not self._may_change():
            return
        if need.blocker is not None:
            self._answer_blocker(need.blocker)
            return
        ask = None if need.ask is None else self.scene.view.asks.get(need.ask)
        if ask is None:
            self._say(f"enter does nothing here: {self._keys(need)}")
            return
        turn = self._turn(need)
        name = f"#{need.turn}" + ("" if turn is None else f" {self.scene.name_of(turn)}")
        self.deck_app.open(AnswerScreen(of_ask(ask, name)))

    def _answer_blocker(self, number: int) -> None:
        blocker = self.scene.view.blockers.get(number)
        task = None if blocker is None else self.scene.view.tasks.get(blocker.task)
        if blocker is not None and task is not None:
            self.deck_app.open(AnswerScreen(of_blocker(blocker, task)))

    def action_next(self) -> None:
        self.query_one(NeedTable).action_cursor(1)

    def _may_change(self) -> bool:
        """Whether anything can be done about what is shown; says why not."""
        app, words = self.deck_app, ""
        if app.in_past:
            words = "this is how it was; esc, and once more, returns to now"
        elif app.settings.read_only:
            words = "this screen only looks on"
        if words:
            self._say(words)
        return not words

    def _may_change_at_once(self) -> bool:
        """The same where nothing is asked first: what is under the cursor has to be meant."""
        slip = self.query_one(NeedTable).slip
        if slip is not None:
            self._say(slip)
        return slip is None and self._may_change()

    def action_release(self) -> None:
        if not self._may_change_at_once():
            return
        need = self._need
        if need is None or need.hold is None:
            self._say("h releases a hold; this is none")
            return
        done = _RELEASED.get(need.kind, "is released")
        self.deck_app.carry_out(ReleaseHold(what=need.hold), f"{need.hold} {done}")

    def action_retry(self) -> None:
        if not self._may_change_at_once():
            return
        need = self._need
        if need is None or need.kind is not NeedKind.LOST:
            self._say("r tries a lost task again; this is none")
            return
        task = self._task_of(need)
        if task is None:
            self._say("this is a message: enter opens it, m writes to it again")
            return
        self.deck_app.carry_out(RetryTask(task=task.name), f"{task.key} is queued again")

    def action_open_turn(self) -> None:
        need = self._need
        if need is None or self._turn(need) is None:
            self._say("this is about no turn")
        elif need.turn is not None:
            self.dismiss()
            self.deck_app.open_turn(need.turn)
