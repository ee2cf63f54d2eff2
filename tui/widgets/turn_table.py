"""Turns as rows: by default what runs, what waits and for what, what has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.reactive import reactive

from batchdeck.core.model.turn import Turn
from batchdeck.tui.present.cells import Row
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.filtering import Filter, read_filter, unknown_words
from batchdeck.tui.present.scene import EMPTY_SCENE, Scene
from batchdeck.tui.present.sorting import Sort
from batchdeck.tui.present.turn_order import TurnOrder
from batchdeck.tui.present.turns import turn_row
from batchdeck.tui.widgets.marking_table import MarkingTable

_COLUMNS = (
    Column("", 1),
    Column("turn", 5),
    Column("task", 8),
    Column("agent", 10, drop=2),
    Column("state", 9, drop=4),
    Column("lane", 11, drop=5),
    Column("time", 7, drop=1),
    Column("what", 28, most=ANY_WIDTH),
)


class TurnTable(MarkingTable[int]):
    """Args:
    draw: The cells of one turn's row.
    always: A filter that holds whatever else is asked for.
    """

    scene: reactive[Scene] = reactive(EMPTY_SCENE, repaint=False)
    filter_text: reactive[str] = reactive("", repaint=False)
    sort: reactive[Sort] = reactive(Sort.NEED, repaint=False)

    def __init__(
        self,
        columns: Sequence[Column] = _COLUMNS,
        draw: Callable[[Turn, Scene], Row] = turn_row,
        *,
        title: str = "turns",
        always: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(columns, id=id)
        self._draw_turn = draw
        self._title, self._always = title, always
        self._order = TurnOrder()
        self._ids: list[int] = []
        self.filter = Filter()
        self.border_title = Content(title)
        self._refilter()

    @property
    def turn(self) -> Turn | None:
        """The turn under the cursor."""
        return None if self.cursor_key is None else self.scene.view.turns.get(self.cursor_key)

    @property
    def marked_turns(self) -> tuple[Turn, ...]:
        """The marked turns, in the order in which they stand."""
        turns = self.scene.view.turns
        return tuple(turns[key] for key in self.marked if key in turns)

    def called(self, key: int) -> str:
        return f"#{key}"

    def watch_scene(self, scene: Scene) -> None:
        if self._order.update(scene.view, scene.needs):
            self._ids = self._order.ids
        self._renew()

    def watch_filter_text(self) -> None:
        self._refilter()
        self.expect_order()
        self._renew()

    def watch_sort(self) -> None:
        self._refilter()
        self.expect_order()
        self._renew()

    def _refilter(self) -> None:
        self.filter = read_filter(self.filter_text)
        self._order.refilter(read_filter(f"{self._always} {self.filter_text}"), self.sort)
        self._ids = self._order.ids
        self.empty_words = (
            "no turn passes the filter (esc clears it)" if self.filter else f"no {self._title} yet"
        )

    def _renew(self) -> None:
        scene = self.scene

        def row_of(turn_id: int) -> Row | None:
            turn = scene.view.turns.get(turn_id)
            return None if turn is None else self._draw_turn(turn, scene)

        if self.filter and not self._ids:
            unknown = unknown_words(self.filter, scene.view)
            self.empty_words = f"{unknown or 'no turn passes the filter'} (esc clears it)"
        self.show(self._ids, row_of)
        self._retitle()

    def marks_changed(self) -> None:
        self._retitle()

    def _retitle(self) -> None:
        """Says which turns are shown, of how many, and how many are marked."""
        words = [self._title]
        if self.sort is not Sort.NEED:
            words.append(f"by {self.sort}")
        title = Content(" ─ ".join([*words, self.filter.text] if self.filter else words))
        if self.border_title != title.markup:
            self.border_title = title
        total = self.scene.view.queued if self._always else len(self.scene.view.turns)
        count = f"{len(self._ids)} of {total}" if self.filter else str(len(self._ids))
        marked = len(self.marked)
        side = Content(f"{marked} marked ─ {count}" if marked else count)
        if self.border_subtitle != side.markup:
            self.border_subtitle = side
