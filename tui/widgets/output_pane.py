"""The output of one turn, read in pages while somebody looks at it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive

from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.turn import ENDED, LIVE, Turn, TurnState
from batchdeck.core.port import OutputPage
from batchdeck.core.telling.transcript import LINE_CAP as EVENT_CAP
from batchdeck.core.telling.transcript import Line, Transcript, teller_of
from batchdeck.core.text import LineSplitter
from batchdeck.tui.present.fitting import inert
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene
from batchdeck.tui.present.told import coloured_words
from batchdeck.tui.widgets.ring_log import RingLog

ReadOutput = Callable[[int, int, int], Awaitable[OutputPage]]
"""Reads a piece of a turn's output: turn, start, limit in bytes."""

_PAGE = 65_536
_PIECE = 8_192
"""Bytes that are understood in one go: a millisecond or two."""
_TOO_FAR_BEHIND = 1_048_576
"""Bytes; a reader that is further behind goes on near the end."""
_REST_SECONDS = 0.05
"""Between two pages: a flood of output must not keep the keys waiting."""

_NEWS_SECONDS = 1.0
"""It looks again after so long even if nothing was heard of the turn."""


def _empty_words(turn: Turn | None, asks: bool) -> str:
    if turn is None:
        return "choose a turn to see its output"
    if asks:
        return "no output yet: it waits for your answer (!)"
    if turn.state is TurnState.QUEUED:
        return "not started: w shows what it waits for"
    return "no output" if turn.state in ENDED else "no output yet"


class OutputPane(RingLog):
    """Follows the output of a turn; it reads only while it is seen and the turn may write."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    turn_id: reactive[int | None] = reactive(None, repaint=False)
    raw: reactive[bool] = reactive(False, repaint=False)
    """As the program wrote it, and not told in words."""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("T", "raw", show=False, id="log.raw")]

    def __init__(self, read: ReadOutput, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._read = read
        self._position = -_PAGE
        self._splitter = LineSplitter()
        self._transcript = Transcript(None)
        self._attempt: str | None = None
        """The one that wrote what was read."""
        self._is_cut = False
        """What is read begins in the middle of an event."""
        self._news = asyncio.Event()
        self._complete = False

    def on_mount(self) -> None:
        self._retitle()

    def on_show(self) -> None:
        self._follow_output()

    def on_hide(self) -> None:
        self.workers.cancel_node(self)

    def watch_turn_id(self) -> None:
        self.workers.cancel_node(self)
        self._begin_anew()

    def watch_raw(self) -> None:
        self.workers.cancel_node(self)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._position, self._complete = -_PAGE, False
        self._read_from_here()
        self.clear()
        self._retitle()
        self._follow_output()

    def _read_from_here(self) -> None:
        """Understands what comes next without what was before it."""
        turn = self._turn(self.scene)
        agent = None if turn is None or self.raw else self.scene.view.agents.get(turn.agent)
        self._transcript = Transcript(teller_of(agent))
        plain = self._transcript.is_plain
        self._splitter = LineSplitter() if plain else LineSplitter(EVENT_CAP)
        self._is_cut = False

    def action_raw(self) -> None:
        self.raw = not self.raw

    def watch_scene(self, before: Scene, scene: Scene) -> None:
        if self.turn_id is None or before.view is scene.view:
            return
        if self._turn(before) is not self._turn(scene):
            self._retitle()
            self._follow_output()
        elif self._asks(before) != self._asks(scene):
            self._retitle()
        if before.view.pulses.get(self.turn_id) is not scene.view.pulses.get(self.turn_id):
            self._news.set()

    def watch_follow(self, before: bool, follow: bool) -> None:
        super().watch_follow(before, follow)
        self._retitle()

    def _turn(self, scene: Scene) -> Turn | None:
        return None if self.turn_id is None else scene.view.turns.get(self.turn_id)

    def _asks(self, scene: Scene) -> bool:
        """Whether the turn waits for a person's answer."""
        return self.turn_id in scene.asks_by_turn

    def _retitle(self) -> None:
        turn = self._turn(self.scene)
        self.empty_words = _empty_words(turn, self._asks(self.scene))
        if turn is None:
            title, side = "output", ""
        else:
            how = "raw output" if self.raw else "output"
            title = f"#{turn.id} {self.scene.name_of(turn)} {how}"
            side = self._following_words(turn)
        for name, words in (("border_title", title), ("border_subtitle", side)):
            content = Content(inert(words, 60))
            if getattr(self, name) != content.markup:
                setattr(self, name, content)

        if not self._total:
            self.refresh()

    def _following_words(self, turn: Turn) -> str:
        if turn.state is TurnState.QUEUED:
            return "not started"
        if not self.follow:
            return "reading, G follows"
        if self._asks(self.scene):
            return "waits for you (!)"
        return "following" if turn.state in LIVE else turn.state.value

    # reading

    def _follow_output(self) -> None:
        turn = self._turn(self.scene)
        if turn is None or turn.state is TurnState.QUEUED or self._complete:
            return
        if self.is_attached and self.display and self.size.height:
            self._news.set()
            self._read_pages(turn.id)

    @work(exclusive=True, group="output")
    async def _read_pages(self, turn_id: int) -> None:
        while not self._complete:
            self._news.clear()
            try:
                page = await self._read(turn_id, self._position, _PAGE)
            except BatchdeckError:
                return  # nobody there to ask: what is shown stays, and the next view is news
            if turn_id != self.turn_id:
                return
            await self._take(page)
            if page.data:
                await asyncio.sleep(_REST_SECONDS)
                continue
            turn = self._turn(self.scene)
            if turn is None or turn.state not in LIVE:
                return  # nobody writes; a change of its state is told
            await self._wait_for_news()

    async def _wait_for_news(self) -> None:
        try:
            await asyncio.wait_for(self._news.wait(), _NEWS_SECONDS)
        except TimeoutError:
            pass

    async def _take(self, page: OutputPage) -> None:
        if self._is_of_another_attempt(page):
            self.clear()
            self._read_from_here()
            self._position, self._attempt = 0, page.attempt
            return
        self._attempt = page.attempt
        if self._position < 0 and page.start > 0:
            self._leave_out(f"… {page.start:,} bytes before this")
        elif page.start > self._position >= 0 and page.data:
            self._leave_out(f"… {page.start - self._position:,} bytes are left out")
        await self._understand(page)
        self._position = page.end
        if page.ended and page.end >= page.size:
            told = self._told(self._splitter.flush()) + self._transcript.flush()
            self.extend(map(coloured_words, told))
            self._complete = True
        if page.size - page.end > _TOO_FAR_BEHIND:
            self._leave_out(f"… {page.size - page.end - _PAGE:,} bytes left out")
            self._position = page.size - _PAGE
        grows = self._transcript.unfinished
        self.put_tail("" if grows is None else coloured_words(grows))

    def _is_of_another_attempt(self, page: OutputPage) -> bool:
        """Whether the turn was claimed anew, so that its output begins again."""
        if self._position <= 0:
            return False
        return page.attempt != self._attempt or page.size < self._position

    async def _understand(self, page: OutputPage) -> None:
        """Piece by piece, between which others have their turn; who is cancelled goes on there."""
        for at in range(0, len(page.data), _PIECE):
            piece = page.data[at : at + _PIECE]
            self._position = page.start + at + len(piece)
            self.extend(map(coloured_words, self._told(self._splitter.feed(piece))))
            await asyncio.sleep(0)

    def _leave_out(self, words: str) -> None:
        """Goes on behind a gap; what then begins in the middle of an event is none."""
        self._read_from_here()
        self._is_cut = not self._transcript.is_plain
        self.extend([words])

    def _told(self, lines: list[bytes]) -> list[Line]:
        if self._is_cut and lines:
            self._is_cut, lines = False, lines[1:]
        return [line for raw in lines for line in self._transcript.take(raw)]
