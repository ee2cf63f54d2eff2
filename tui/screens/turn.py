"""One turn by itself: what it is, what was said, and what it writes."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from batchdeck.core.difference import changed_turns
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.budget import TurnSpent
from batchdeck.core.model.conversation import Message, Role
from batchdeck.core.model.turn import ENDED, Turn
from batchdeck.core.text import clean_text
from batchdeck.core.view import DeckView
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.present.budgets import spent_words
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.fitting import fit, in_lines, inert, short_path
from batchdeck.tui.present.happenings import moment
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.turns import state_word, turn_symbol, turn_time, turn_tone, what
from batchdeck.tui.screens.acting import ActingScreen, bindings_of
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.charts import Charts
from batchdeck.tui.widgets.filter_bar import FilterBar
from batchdeck.tui.widgets.headline import Headline
from batchdeck.tui.widgets.output_pane import OutputPane
from batchdeck.tui.widgets.ring_log import RingLog

_LEFT_OUT = ("mark", "mark.all", "sort", "open")
_SHORT = 18
"""Lines of a screen below which what it does stands there alone."""
_MOST_LINES = 3
"""Of a question, or of what went wrong."""


class TurnScreen(ActingScreen):
    AUTO_FOCUS = "OutputPane"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of((Focus.TURNS,), *_LEFT_OUT)

    def __init__(self, turn_id: int) -> None:
        super().__init__()
        self._turn_id = turn_id
        self._messages: tuple[Message, ...] = ()
        """Those that are shown."""
        self._used = ""

    def compose(self) -> ComposeResult:
        yield Headline(id="headline").data_bind(TurnScreen.scene)
        yield Static(id="about", markup=False)
        yield Charts(id="charts").data_bind(TurnScreen.scene)
        conversation = RingLog(id="conversation")
        conversation.border_title = Content("conversation")
        yield conversation
        yield OutputPane(self.deck_app.deck.output, id="output").data_bind(TurnScreen.scene)
        with Horizontal(id="filtering"):
            yield Static(" find ", markup=False)
            yield FilterBar("enter: the latest · then n next, N before", id="filter")
        yield ActionBar(id="bar")

    def on_mount(self) -> None:
        self.query_one(OutputPane).turn_id = self._turn_id
        if self._turn is not None:
            self.query_one(Charts).agent = self._turn.agent
        self.query_one(ActionBar).hints = (
            ("esc", "back"),
            self.hint("filter", "find"),
            ("W", "wrap"),
            *self.hints_for(Focus.TURNS, "filter", *_LEFT_OUT),
        )
        self._show()
        self._read_messages()
        self._read_used()

    def watch_scene(self, before: Scene, scene: Scene) -> None:
        if not self.ready:
            return
        if before.view.turns.get(self._turn_id) is not self._turn:
            self._read_used()
        self._show()
        if self._has_news(before.view, scene.view):
            self._read_messages()

    def _has_news(self, before: DeckView, view: DeckView) -> bool:
        """Whether a turn of the conversation is new or another: only with one comes a message."""
        if self._turn is None or before is view:
            return False
        changed = (view.turns.get(turn_id) for turn_id in changed_turns(before, view))
        return any(t is not None and t.conversation == self._turn.conversation for t in changed)

    @property
    def _turn(self) -> Turn | None:
        return self.scene.view.turns.get(self._turn_id)

    def standpoint(self) -> Standpoint:
        return Standpoint(
            view=self.scene.view,
            focus=Focus.TURNS,
            turn=self._turn,
        )

    def go_back(self) -> None:
        output = self.query_one(OutputPane)
        if output.needle:
            output.find("")
        else:
            self.dismiss()

    # finding in the output

    def ask_filter(self) -> None:
        self.query_one("#filtering").add_class("-open")
        self.query_one(FilterBar).open(self.query_one(OutputPane).needle.text)

    @on(FilterBar.Written)
    def _find(self, message: FilterBar.Written) -> None:
        if not self.query_one(OutputPane).find(message.text):
            self.say(f"{message.text!r} is not in what is kept of the output", Tone.ALERT)

    @on(FilterBar.Done)
    def _found(self) -> None:
        self.query_one("#filtering").remove_class("-open")
        self.query_one(OutputPane).focus()
        if self.query_one(OutputPane).needle:
            self.say("n next, N before, esc ends it")

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
        place, content = self.query_one("#about", Static), self._about()
        if place.content != content:
            place.update(content)

    def _about(self) -> Content:
        turn, scene = self._turn, self.scene
        if turn is None:
            return Content(f"#{self._turn_id} is not known any more.")
        tone = turn_tone(turn, scene)
        state = f"{turn_symbol(turn, scene)} {state_word(turn, scene)}"
        facts = f"  #{turn.id} {scene.name_of(turn)}  {turn.agent}  {turn_time(turn, scene)}"
        first = Content.assemble((f" {state}", f"$status-{tone}"), (inert(facts), "bold"))
        room = max(1, self.size.width - 1)
        lines = in_lines(what(turn, scene), room, self._doing_lines(turn))
        if self.size.height >= _SHORT:
            more = " · ".join(filter(None, (_more(turn, scene), self._used)))
            lines.insert(0, fit(more, room))
        return Content("\n").join([first, *(Content(f" {line}") for line in lines)])

    def _doing_lines(self, turn: Turn) -> int:
        """Lines for what it does; a question or what went wrong is worth more of them."""
        needs_reading = turn.id in self.scene.asks_by_turn or (turn.state in ENDED and turn.error)
        return _MOST_LINES if needs_reading else 1

    @work(exclusive=True, group="used")
    async def _read_used(self) -> None:
        try:
            spent = await self.deck_app.deck.spent(self._turn_id)
        except BatchdeckError:
            return  # nobody there to ask: what is shown stays
        self._used = _used_words(spent)
        self._show()

    @work(exclusive=True, group="messages")
    async def _read_messages(self) -> None:
        turn = self._turn
        if turn is None:
            return
        try:
            messages = await self.deck_app.deck.messages(turn.conversation)
        except BatchdeckError:
            return  # nobody there to ask: what is shown stays
        log = self.query_one("#conversation", RingLog)
        shown, self._messages = self._messages, tuple(messages)
        if self._messages[: len(shown)] != shown:
            log.clear()  # one that is still queued reads otherwise, or was merged
            shown = ()
        fresh = self._messages[len(shown) :]
        log.extend(
            [
                line
                for message in fresh
                for line in _message_lines(message, turn.agent, self.scene.now_ms)
            ]
        )
        log.set_class(not messages, "-empty")


def _more(turn: Turn, scene: Scene) -> str:
    """The facts that not every turn has."""
    task, view = scene.task_of(turn), scene.view
    facts = {
        "": "" if task is None else task.title,
        "asked by": turn.trigger.value,
        "lane": turn.lane or "",
        "target": turn.target or "",
        "folder": "scratch" if turn.folder is None else short_path(turn.folder.path, view.deck),
        "attempt": str(turn.attempts) if turn.attempts > 1 else "",
    }
    return " · ".join(f"{name} {value}".strip() for name, value in facts.items() if value)


def _used_words(spent: TurnSpent) -> str:
    """What the turn used, and its task where that is more; attempts count when they end."""
    own = spent_words(spent.turn)
    task = "" if spent.task in (None, spent.turn) else spent_words(spent.task or spent.turn)
    used = f"used {own}" if own else ""
    return " · ".join(filter(None, (used, f"its task {task}" if task else "")))


def _message_lines(message: Message, agent: str, now_ms: int) -> list[str]:
    who = "you" if message.role is Role.OPERATOR else agent
    first, *rest = clean_text(message.text).split("\n")
    head = f"{moment(message.at_ms, now_ms)} {who}: "
    return [head + first, *(" " * len(head) + line for line in rest)]
