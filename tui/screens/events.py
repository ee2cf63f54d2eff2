"""What happened on the deck, the latest last; each entry opens its turn."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.event import Event
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.event_filter import EventFilter
from batchdeck.tui.present.fitting import in_lines
from batchdeck.tui.present.happenings import event_row, event_words
from batchdeck.tui.present.outside import tracker_lines
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.whole import whole_lines
from batchdeck.tui.screens.acting import bindings_of
from batchdeck.tui.screens.filtering import FilteringScreen
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.headline import Headline
from batchdeck.tui.widgets.virtual_table import VirtualTable

_MOST = 5_000
_PAGE = 1_000
_COLUMNS = (
    Column("time", 11),
    Column("event", 18),
    Column("turn", 6, drop=1),
    Column("task", 10, drop=2),
    Column("what", 24, most=ANY_WIDTH),
)
FEED = "kind:reconcile|audit"
"""The filter that leaves what reconciliation did."""
_TRACKER_LINES, _WHOLE_LINES = 4, 2
"""Of what a tracker says, and of the event under the cursor, whose row may cut it."""
_LEFT_OUT = ("mark", "mark.all", "sort", "events", "next_part", "previous_part")


class EventTable(VirtualTable[int]):
    """The events by their number."""


class EventsScreen(FilteringScreen):
    AUTO_FOCUS = "EventTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_of((Focus.TURNS,), *_LEFT_OUT),
        Binding("e", "feed", "Only reconciliation, or all", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._events: dict[int, Event] = {}
        self._filter = EventFilter()

    def compose(self) -> ComposeResult:
        yield Headline(id="headline").data_bind(EventsScreen.scene)
        yield Static(id="trackers", markup=False)
        yield EventTable(_COLUMNS, id="events")
        yield Static(id="whole", markup=False)
        yield from self.compose_filter("kind:limit agent:coder by:op !text")
        yield ActionBar(id="bar")

    def on_mount(self) -> None:
        self.query_one(ActionBar).hints = (
            ("esc", "back"),
            ("e", "reconciliation"),
            *self.hints_for(Focus.TURNS, *_LEFT_OUT),
        )
        self._show_trackers()
        self._read_on()

    def action_feed(self) -> None:
        """Only what reconciliation did, and why; or everything again."""
        self.set_filter("" if self._filter.text == FEED else FEED)

    def _show_trackers(self) -> None:
        lines = tracker_lines(self.scene.view)
        place = self.query_one("#trackers", Static)
        place.display = bool(lines)
        room = max(10, self.size.width - 2)
        styled = [
            Content.styled(
                "\n".join(in_lines(cell.text, room, _TRACKER_LINES)), f"$status-{cell.tone}"
            )
            for cell in lines
        ]
        content = Content("\n").join(styled)
        if place.content != content:
            place.update(content)

    def on_resize(self) -> None:
        self._show_trackers()
        self._show_whole()

    @on(VirtualTable.Moved)
    def _show_whole(self) -> None:
        """All of the event under the cursor."""
        seq = self.query_one(EventTable).cursor_key
        event = None if seq is None else self._events.get(seq)
        words = "" if event is None else event_words(event)
        place = self.query_one("#whole", Static)
        content = Content(whole_lines(words, max(1, self.size.width - 2), _WHOLE_LINES))
        if place.content != content:
            place.update(content)

    def watch_scene(self, before: Scene, scene: Scene) -> None:
        if self.ready and before.view is not scene.view:
            self._show_trackers()
            self._read_on()

    @on(VirtualTable.Opened)
    def _open_row(self) -> None:
        self.action_do("open")

    def standpoint(self) -> Standpoint:
        """The keys are about the turn of the event under the cursor."""
        seq = self.query_one(EventTable).cursor_key
        event = None if seq is None else self._events.get(seq)
        turn = None if event is None or event.turn is None else event.turn
        return Standpoint(
            view=self.scene.view,
            focus=Focus.TURNS,
            turn=None if turn is None else self.scene.view.turns.get(turn),
        )

    # filtering

    @property
    def filter_text(self) -> str:
        return self._filter.text

    def set_filter(self, text: str) -> None:
        self._filter = EventFilter(text)
        self.query_one(EventTable).expect_order()
        self._show()

    def filter_done(self) -> None:
        self.query_one(EventTable).focus()

    def _show(self) -> None:
        table = self.query_one(EventTable)
        table.empty_words = self._filter.empty_words
        shown = [seq for seq, event in self._events.items() if self._filter.passes(event)]
        table.show(shown, self._row_of)
        title = f"events ─ {self._filter.text}" if self._filter.text else "events"
        self._show_whole()
        table.border_title = Content(title)
        table.border_subtitle = Content(f"{len(shown)} of {len(self._events)}")

    # reading

    @work(exclusive=True, group="events")
    async def _read_on(self) -> None:
        latest = max(self._events, default=-_PAGE)
        try:
            fresh = await self.deck_app.deck.events(latest, _PAGE)
        except BatchdeckError:
            return  # nobody there to ask: what is shown stays
        if not fresh or not self.ready:
            return
        table = self.query_one(EventTable)
        at_end = not self._events or table.cursor_key == latest
        self._events.update((event.seq, event) for event in fresh)
        for seq in list(self._events)[: max(0, len(self._events) - _MOST)]:
            del self._events[seq]
        self._show()
        if at_end:
            table.action_bottom()

    def _row_of(self, seq: int) -> Row | None:
        event = self._events.get(seq)
        return None if event is None else event_row(event, self.scene.now_ms)
