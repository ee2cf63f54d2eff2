"""A table on Textual's line API: what it costs depends on the rows that are seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from batchdeck.tui.present.cells import Row, Tone
from batchdeck.tui.present.columns import Column
from batchdeck.tui.widgets.row_painter import RowPainter

Key = TypeVar("Key", bound=Hashable)

SLIP_SECONDS = 0.5
"""A key that comes so soon after another row has come under the cursor was meant for the one
before."""
REST_SECONDS = 1.0
"""Rows change their order only when no key has moved the cursor for so long."""


class VirtualTable(ScrollView, Generic[Key], can_focus=True):
    """Shows rows by key and keeps its cursor on one; cells are plain text, never markup.

    The owner gives the keys in order and a function that draws one row, or says with None that
    there is none of that key any more: rows that have gone stay for a moment while the operator
    moves the cursor, blank. Only rows that are seen are drawn, and only those that came out
    differently are painted again.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--header",
        "table--cursor",
        *(f"table--{tone}" for tone in Tone if tone),
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor(1)", "Down", show=False, id="move.down"),
        Binding("up,k", "cursor(-1)", "Up", show=False, id="move.up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="move.page_down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="move.page_up"),
        Binding("home,g", "top", "First row", show=False, id="move.top"),
        Binding("end,G", "bottom", "Last row", show=False, id="move.bottom"),
    ]

    class Moved(Message):
        """The cursor is on another row, or on none."""

        def __init__(self, table: VirtualTable[Any]) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> VirtualTable[Any]:
            return self.table

    class Opened(Moved):
        """A row was clicked twice."""

    def __init__(self, columns: Sequence[Column], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.empty_words = ""
        """What stands there when there is no row."""
        self._painter = RowPainter(columns, self._find_style)
        self._keys: Sequence[Key] = ()
        self._waiting_keys: Sequence[Key] | None = None
        self._draw: Callable[[Key], Row | None] = lambda key: None
        self._cursor = 0
        self._anchor: Key | None = None
        self._moved_at = -REST_SECONDS
        self._own_order = False
        self._slipped: tuple[float, Key] | None = None
        """When which row went from under the cursor without a key."""
        self._fresh: dict[Key, Row] = {}
        self._painted: dict[int, tuple[Key, Row]] = {}

    # what it shows

    @property
    def keys(self) -> Sequence[Key]:
        return self._keys

    @property
    def cursor_key(self) -> Key | None:
        """The key of the row under the cursor; None where there is no row."""
        return self._keys[self._cursor] if self._cursor < len(self._keys) else None

    @property
    def slip(self) -> str | None:
        """That another row has just come under the cursor without a key: `#1 has gone; this is
        #2`; None: what is there was there long enough to be meant."""
        if self._slipped is None or self.cursor_key is None:
            return None
        at, before = self._slipped
        if monotonic() - at >= SLIP_SECONDS:
            return None
        old, new = self.called(before), self.called(self.cursor_key)
        if not old or not new:
            return "another row has just come under the cursor; press it again for this one"
        return (
            f"this is {new} now, no longer {old}"
            if before in self._keys
            else (f"{old} has gone; this is {new}")
        )

    def called(self, key: Key) -> str:
        """What a row is about, as people call it; an empty text where it has no short name."""
        return ""

    def show(self, keys: Sequence[Key], draw: Callable[[Key], Row | None]) -> None:
        """Shows other rows, or the same ones drawn anew.

        The cursor stays on its key. A new order waits while the operator is moving the cursor.
        """
        self._draw = draw
        if keys is self._keys or (len(keys) == len(self._keys) and keys == self._keys):
            self._waiting_keys = None
            self.redraw()
            return
        if self._keys and self._is_being_moved():
            self._postpone(keys)
            return
        self.take(keys)

    def redraw(self) -> None:
        """Draws the rows that are seen, and paints those that came out differently."""
        self._fresh.clear()
        dirty = [
            Region(0, line, self.size.width, 1)
            for line, index in self._seen()
            if self._painted.get(line) != (self._keys[index], self._row(self._keys[index]))
        ]
        if dirty:
            self.refresh(*dirty)

    def expect_order(self) -> None:
        """The next order is the operator's own doing: it need not wait for their hand."""
        self._moved_at = -REST_SECONDS
        self._own_order = True

    def stay_on_row(self) -> None:
        """The cursor goes wherever its row does, also where the operator has not moved it yet."""
        self._anchor = self.cursor_key

    def move_to(self, key: Key) -> None:
        """Puts the cursor on a row, as the operator would."""
        if key in self._keys:
            self._move(self._keys.index(key))

    def take(self, keys: Sequence[Key]) -> None:
        """Shows other rows at once."""
        line = self._cursor - self.scroll_offset.y
        before = self.cursor_key
        self._keys, self._waiting_keys = keys, None
        self._cursor = self._found_again()
        self._resize_virtually()
        if self._anchor is not None:
            # rows that came or went above must not push the one that is being read
            self._scroll_row_to(line)
        self._keep_in_sight()
        self._fresh.clear()
        self.refresh()
        if self.cursor_key != before:
            self._slipped = None if before is None or self._own_order else (monotonic(), before)
            self.post_message(self.Moved(self))
        self._own_order = False

    def _found_again(self) -> int:
        if self._anchor is None:
            return 0
        if self._anchor in self._keys:
            return self._keys.index(self._anchor)
        found = max(0, min(self._cursor, len(self._keys) - 1))
        self._anchor = self._keys[found] if self._keys else None
        return found

    def _is_being_moved(self) -> bool:
        return monotonic() - self._moved_at < REST_SECONDS

    def _postpone(self, keys: Sequence[Key]) -> None:
        if self._waiting_keys is None:
            self.set_timer(REST_SECONDS, self._settle)
        self._waiting_keys = keys
        self.redraw()

    def _settle(self) -> None:
        if self._waiting_keys is None:
            return
        if self._is_being_moved():
            self.set_timer(REST_SECONDS, self._settle)
            return
        self.take(self._waiting_keys)

    # where its rows are

    @property
    def _header_lines(self) -> int:
        # where there is no room even for three rows, they are worth more than their heading
        return int(self.size.height >= min(len(self._keys) + 1, 4))

    @property
    def _page(self) -> int:
        return max(1, self.size.height - self._header_lines)

    def _seen(self) -> list[tuple[int, int]]:
        """Line and index of each row that is seen."""
        top, header = self.scroll_offset.y, self._header_lines
        last = min(len(self._keys), top + self._page)
        return [(index - top + header, index) for index in range(top, last)]

    def _resize_virtually(self) -> None:
        size = Size(self.size.width, len(self._keys) + 1)
        if self.virtual_size != size:
            self.virtual_size = size

    def _scroll_row_to(self, line: int) -> None:
        top = max(0, min(self._cursor - line, len(self._keys) - self._page))
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)

    def _keep_in_sight(self) -> None:
        top = self.scroll_offset.y
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False, force=True)
        elif self._cursor >= top + self._page:
            self.scroll_to(y=self._cursor - self._page + 1, animate=False, force=True)

    # how it is painted

    def render_lines(self, crop: Region) -> list[Strip]:
        # a scrollbar that comes or goes changes the width, and no event tells
        self._painter.fit_into(self.scrollable_content_region.width)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        header = self._header_lines
        if y < header:
            return self._painter.header()
        index = self.scroll_offset.y + y - header
        if index >= len(self._keys):
            self._painted.pop(y, None)
            return self._empty_strip(y - header)
        key, at_cursor = self._keys[index], index == self._cursor
        row = self._row(key)
        self._painted[y] = (key, row)
        return self._painter.row(row, self.sign_of(key, at_cursor), at_cursor, self.has_focus)

    def sign_of(self, key: Key, at_cursor: bool) -> str:
        """The character at a row's edge; only the part that has the focus shows its cursor so."""
        return "›" if at_cursor and self.has_focus else " "

    def _empty_strip(self, line: int) -> Strip:
        if line or self._keys or not self.empty_words:
            return self._painter.blank()
        return self._painter.words(self.empty_words, Tone.MUTED)

    def _row(self, key: Key) -> Row:
        row = self._fresh.get(key)
        if row is None:
            row = self._fresh[key] = self._draw(key) or ()
        return row

    def _find_style(self, name: str, only_itself: bool) -> Style:
        if not name:
            return self.rich_style
        return self.get_component_rich_style(f"table--{name}", partial=only_itself)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painter.forget()
        self._painted.clear()

    # what the operator does

    def on_resize(self) -> None:
        self._painted.clear()
        self._resize_virtually()
        self._keep_in_sight()

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y - self._header_lines
        if event.y < self._header_lines or index >= len(self._keys):
            return
        self._move(index)
        if event.chain == 2:
            self.post_message(self.Opened(self))

    def action_cursor(self, steps: int) -> None:
        self._move(self._cursor + steps)

    def action_page(self, pages: int) -> None:
        self._move(self._cursor + pages * max(1, self._page - 1))

    def action_top(self) -> None:
        """The first row, whichever that is from now on."""
        self._move(0)
        self._anchor = None

    def action_bottom(self) -> None:
        self._move(len(self._keys) - 1)

    def _move(self, index: int) -> None:
        self._moved_at, self._slipped = monotonic(), None
        if not self._keys:
            return
        before, self._cursor = self._cursor, max(0, min(index, len(self._keys) - 1))
        self._anchor = self._keys[self._cursor]
        if before == self._cursor:
            return
        self._keep_in_sight()
        lines = {index: line for line, index in self._seen()}
        self.refresh(
            *(
                Region(0, lines[at], self.size.width, 1)
                for at in (before, self._cursor)
                if at in lines
            )
        )
        self.post_message(self.Moved(self))
