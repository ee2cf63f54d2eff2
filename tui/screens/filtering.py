"""A screen with rows that a filter chooses from."""

from __future__ import annotations

from abc import abstractmethod

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from batchdeck.tui.screens.acting import ActingScreen
from batchdeck.tui.widgets.filter_bar import FilterBar
from batchdeck.tui.widgets.turn_table import TurnTable


class FilteringScreen(ActingScreen):
    """Escape takes the marks away first, then the filter, then it goes back."""

    def compose_filter(
        self, example: str = "status:READY agent:coder !text", name: str = "filter"
    ) -> ComposeResult:
        """The line in which a filter is written."""
        with Horizontal(id="filtering"):
            yield Static(f" {name} ", markup=False)
            yield FilterBar(example, id="filter")

    @property
    @abstractmethod
    def filter_text(self) -> str:
        """The filter as it was written; an empty text shows all."""

    @abstractmethod
    def filter_done(self) -> None:
        """The filter is written: the rows have the keys again."""

    def ask_filter(self) -> None:
        self.query_one("#filtering").add_class("-open")
        self.query_one(FilterBar).open(self.filter_text)

    def go_back(self) -> None:
        if self.unmark():
            return
        if self.filter_text:
            self.set_filter("")
            return
        self.leave_screen()

    def leave_screen(self) -> None:
        """What escape does where there is nothing to clear."""
        self.dismiss()

    @on(FilterBar.Written)
    def _filter_as_written(self, message: FilterBar.Written) -> None:
        self.set_filter(message.text)

    @on(FilterBar.Done)
    def _filter_done(self) -> None:
        self.query_one("#filtering").remove_class("-open")
        self.filter_done()


class TurnsScreen(FilteringScreen):
    """The rows are turns, which can be sorted, and marked so that one key is about several."""

    @property
    def _turns(self) -> TurnTable:
        return self.query_one(TurnTable)

    @property
    def filter_text(self) -> str:
        return self._turns.filter_text

    def set_filter(self, text: str) -> None:
        self._turns.filter_text = text

    def filter_done(self) -> None:
        self._turns.focus()

    def sort(self) -> None:
        self._turns.sort = self._turns.sort.following
        self.say(f"sorted by {self._turns.sort}: s goes on")

    def mark(self) -> None:
        self._turns.mark()

    def mark_all(self) -> None:
        self._turns.mark_all()

    def unmark(self) -> bool:
        return self._turns.unmark()
