"""A log in a ring: appending costs nothing, and the screen is told ten times a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from batchdeck.tui.ansi import coloured_segments, plain_text
from batchdeck.tui.finding import Needle
from batchdeck.tui.present.fitting import fit
from batchdeck.tui.wrapping import wrapped

_COMMITS_PER_SECOND = 10
_MOST_CHARACTERS = 4_000
"""Of one line."""
_FOUND = Style(reverse=True, bold=True)


class RingLog(ScrollView, can_focus=True):
    """Shows the latest lines of a stream, and follows its end until the reader scrolls back.

    While somebody reads further up, what is being read stays where it is, though old lines drop
    out of the ring above it.
    """

    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_down", show=False, id="log.down"),
        Binding("up,k", "scroll_up", show=False, id="log.up"),
        Binding("pagedown", "page_down", show=False, id="log.page_down"),
        Binding("pageup", "page_up", show=False, id="log.page_up"),
        Binding("end,G", "follow", show=False, id="log.follow"),
        Binding("home,g", "top", show=False, id="log.top"),
        Binding("n", "find(1)", show=False, id="log.next"),
        Binding("N", "find(-1)", show=False, id="log.previous"),
        Binding("W", "wrap", show=False, id="log.wrap"),
    ]
    follow = var(True)
    wraps = var(False)
    """Long lines go on in the next row, and are not cut."""

    class FollowChanged(Message):
        """The log follows its end, or does so no longer."""

    def __init__(self, *, most_lines: int = 5_000, id: str | None = None) -> None:
        super().__init__(id=id)
        self.empty_words = ""
        """What stands there while there is no line."""
        self.needle = Needle()
        """What is looked for, and marked where it stands."""
        self._found: int | None = None
        """Number of the line at which it was found last."""
        self._source: deque[str] = deque(maxlen=most_lines)
        self._lines: deque[str] = deque(maxlen=most_lines)
        self._total = 0
        self._first = 0
        """Number of the first line in the ring at the last commit."""
        self._tail = ""
        """The line that still grows, and in how many rows it stands."""
        self._tail_rows = 0
        self._dirty = False
        self._strips: LRUCache[tuple[Any, ...], Strip] = LRUCache(512)
        self._timer: Timer | None = None
        self._plain = Style.null()
        self._wrapped_at = 0

    # what is written

    def extend(self, lines: Iterable[str]) -> None:
        """Appends lines; may be called thousands of times a second."""
        before = self._total
        self._drop_tail()
        short = [line[:_MOST_CHARACTERS] for line in lines]
        self._source.extend(short)
        self._put(*short)
        if self._total != before:
            self._mark_dirty()

    def put_tail(self, line: str) -> None:
        """Shows a line that still grows, last; the next one, or the next lines, replace it."""
        if line[:_MOST_CHARACTERS] == self._tail:
            return
        self._drop_tail()
        if line:
            self._tail = line[:_MOST_CHARACTERS]
            self._source.append(self._tail)
            self._tail_rows = self._put(self._tail)
        self._mark_dirty()

    def _drop_tail(self) -> None:
        if not self._tail:
            return
        self._source.pop()
        for _ in range(min(self._tail_rows, len(self._lines))):
            self._lines.pop()
        self._total -= self._tail_rows
        self._tail, self._tail_rows = "", 0
        self._strips.clear()
        self._mark_dirty()

    def _put(self, *lines: str) -> int:
        """Puts lines below the others; in how many rows they stand."""
        rows: Sequence[str] = lines
        if self.wraps:
            rows = [row for line in lines for row in wrapped(line, self._width)]
        self._lines.extend(rows)
        self._total += len(rows)
        return len(rows)

    def clear(self) -> None:
        """Forgets every line and follows again."""
        self._source.clear()
        self._lines.clear()
        self._total = self._first = 0
        self._tail, self._tail_rows = "", 0
        self._found = None
        self._strips.clear()
        self.follow = True
        self._mark_dirty()

    @property
    def text(self) -> str:
        """All lines as plain inert text."""
        return "\n".join(plain_text(line) for line in self._lines)

    @property
    def _width(self) -> int:
        """Cells of a line; room for a scrollbar is always kept, so that nothing is wrapped anew."""
        return self.scrollable_content_region.width

    def _mark_dirty(self) -> None:
        self._dirty = True
        if self._timer is not None:
            self._timer.resume()

    # how it is shown

    def on_mount(self) -> None:
        self._timer = self.set_interval(
            1 / _COMMITS_PER_SECOND, self._commit, pause=not self._dirty
        )

    def _commit(self) -> None:
        if self._timer is not None:
            self._timer.pause()
        if not self._dirty:
            return
        self._dirty = False
        first = self._total - len(self._lines)
        dropped, self._first = first - self._first, first
        self._resize_virtually()
        if self.follow:
            self._stand_at(max(0, len(self._lines) - self.size.height))
            self._refresh_scrollbars()
        elif dropped > 0:
            self._stand_at(max(0, self.scroll_y - dropped))
        self.refresh()

    def _stand_at(self, line: float) -> None:
        """Without what scrolling costs, and so with the scrollbar's own place."""
        self.set_scroll(None, line)
        if line or self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = line

    def _resize_virtually(self) -> None:
        before, size = self.virtual_size, Size(self._width, len(self._lines))
        height = self.container_size.height
        if before.width == size.width and min(before.height, size.height) > height:
            # the scrollbar stays, and so all else: the screen is not laid out anew for it
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)
        else:
            self.virtual_size = size

    def on_resize(self) -> None:
        if self.wraps and self._width != self._wrapped_at:
            self._wrap_anew()
        self._mark_dirty()

    def watch_wraps(self) -> None:
        self._wrap_anew()

    def _wrap_anew(self) -> None:
        self._wrapped_at = self._width
        self._lines.clear()
        self._strips.clear()
        self._total = self._first = 0
        self._found = None
        for line in self._source:
            rows = self._put(line)
            self._tail_rows = rows if self._tail else 0
        self._mark_dirty()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        # a tenth of a millisecond: once a frame, not once a line
        self._plain = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        number = self.scroll_offset.y + y
        if not self._lines and y == 0 and self.empty_words:
            return Strip([Segment(fit(f" {self.empty_words}", self._width), self._plain)])
        if number >= len(self._lines):
            return Strip.blank(self._width, self._plain)
        strip = self._with_selection(self._line_strip(number), number)
        return strip.apply_offsets(0, number)

    def _line_strip(self, number: int) -> Strip:
        width = self._width
        known = (self._first + number, width, self._plain, self.needle.text)
        strip = self._strips.get(known)
        if strip is None:
            line = self._lines[number]
            strip = self._strips[known] = self._with_finds(self._drawn(line, width), line)
        return strip

    def _drawn(self, line: str, width: int) -> Strip:
        if "\x1b" not in line:
            return Strip([Segment(fit(line, width), self._plain)], width)
        return Strip(coloured_segments(line, self._plain)).adjust_cell_length(width, self._plain)

    def _with_finds(self, strip: Strip, line: str) -> Strip:
        if not self.needle:
            return strip
        for start, end in self.needle.spans(line):
            middle = strip.crop(start, end).apply_style(_FOUND)
            strip = Strip.join([strip.crop(0, start), middle, strip.crop(end)])
        return strip

    def _with_selection(self, strip: Strip, number: int) -> Strip:
        selection = self.text_selection
        span = None if selection is None else selection.get_span(number)
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end == -1 else end
        mark = self.screen.get_component_rich_style("screen--selection")
        middle = strip.crop(start, end).apply_style(mark)
        return Strip.join([strip.crop(0, start), middle, strip.crop(end)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self.text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    # finding

    def find(self, text: str) -> bool:
        """Marks a text, and goes to the latest line with it; whether there is one."""
        self.needle, self._found = Needle(text), None
        self.refresh()
        return self.find_on(-1) if self.needle else True

    def find_on(self, step: int) -> bool:
        """Goes to the next line with it, or with -1 to the one before; whether there is one."""
        if not self._lines:
            return False
        start = len(self._lines) - 1 if self._found is None else self._found - self._first + step
        index = self.needle.next_in(self._lines, start, step)
        if index is None:
            return False
        self._found = self._first + index
        self._read_at(max(0, index - self.size.height // 2))
        return True

    # what the reader does

    def watch_follow(self, before: bool, follow: bool) -> None:
        if before != follow:
            self.post_message(self.FollowChanged())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        # what is being selected must not move
        self.follow = False

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.follow = False

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.call_after_refresh(self._follow_at_end)

    def _follow_at_end(self) -> None:
        self.follow = self.scroll_y >= self.max_scroll_y - 1

    def action_follow(self) -> None:
        self.follow = True
        self._mark_dirty()

    def action_find(self, step: int) -> None:
        self.find_on(step)

    def action_wrap(self) -> None:
        self.wraps = not self.wraps

    def action_top(self) -> None:
        self._read_at(0)

    def action_scroll_up(self) -> None:
        self._read_at(self.scroll_y - 1)

    def action_scroll_down(self) -> None:
        self._read_on(self.scroll_y + 1)

    def action_page_up(self) -> None:
        self._read_at(self.scroll_y - max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        self._read_on(self.scroll_y + max(1, self.size.height - 1))

    def _read_at(self, line: float) -> None:
        self.follow = False
        self.scroll_to(y=line, animate=False)

    def _read_on(self, line: float) -> None:
        self.scroll_to(y=line, animate=False)
        self.call_after_refresh(self._follow_at_end)
