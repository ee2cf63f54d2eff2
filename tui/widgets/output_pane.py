"""The output of one turn, read in pages while somebody looks at it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from textual import work
from textual.content import Content
from textual.reactive import reactive

from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.turn import ENDED, LIVE, Turn, TurnState
from batchdeck.core.port import OutputPage
from batchdeck.core.text import LineSplitter, decode
from batchdeck.tui.present.fitting import inert
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene
from batchdeck.tui.widgets.ring_log import RingLog

ReadOutput = Callable[[int, int, int], Awaitable[OutputPage]]
"""Reads a piece of a turn's output: turn, start, limit in bytes."""

_PAGE = 65_536
_TOO_FAR_BEHIND = 1_048_576
"""Bytes; a reader that is further behind goes on near the end."""
_REST_SECONDS = 0.05
"""Between two pages: a flood of output must not keep the keys waiting."""

_NEWS_SECONDS = 1.0
"""It looks again after so long even if nothing was heard of the turn."""


def _empty_words(turn: Turn | None) -> str:
    if turn is None:
        return "choose a turn to see its output"
    if turn.state is TurnState.QUEUED:
        return "not started: w shows what it waits for"
    return "no output" if turn.state in ENDED else "no output yet"


class OutputPane(RingLog):
    """Follows the output of a turn; it reads only while it is seen and the turn may write."""

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    turn_id: reactive[int | None] = reactive(None, repaint=False)

    def __init__(self, read: ReadOutput, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._read = read
        self._position = -_PAGE
        self._splitter = LineSplitter()
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
        self._position, self._complete = -_PAGE, False
        self._splitter = LineSplitter()
        self.clear()
        self._retitle()
        self._follow_output()

    def watch_scene(self, before: Scene, scene: Scene) -> None:
        if self.turn_id is None or before.view is scene.view:
            return
        if self._turn(before) is not self._turn(scene):
            self._retitle()
            self._follow_output()
        if before.view.pulses.get(self.turn_id) is not scene.view.pulses.get(self.turn_id):
            self._news.set()

    def watch_follow(self, before: bool, follow: bool) -> None:
        super().watch_follow(before, follow)
        self._retitle()

    def _turn(self, scene: Scene) -> Turn | None:
        return None if self.turn_id is None else scene.view.turns.get(self.turn_id)

    def _retitle(self) -> None:
        turn = self._turn(self.scene)
        self.empty_words = _empty_words(turn)
        if turn is None:
            title, side = "output", ""
        else:
            title = f"#{turn.id} {self.scene.name_of(turn)} output"
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
            self._take(page)
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

    def _take(self, page: OutputPage) -> None:
        if page.size < self._position:
            # the turn was claimed anew, and its output begins again
            self.clear()
            self._position = 0
            return
        if self._position < 0 and page.start > 0:
            self.extend([f"… {page.start:,} bytes before this"])
        elif page.start > self._position >= 0 and page.data:
            self.extend([f"… {page.start - self._position:,} bytes are left out"])
        lines = self._splitter.feed(page.data)
        self._position = page.end
        if page.size - page.end > _TOO_FAR_BEHIND:
            self.extend([f"… {page.size - page.end - _PAGE:,} bytes left out"])
            self._position = page.size - _PAGE
        if page.ended and page.end >= page.size:
            lines += self._splitter.flush()
            self._complete = True
        self.extend([decode(line) for line in lines])
