"""What the dashboard costs: opening, one changed row, and doing nothing.

    python -m tests.bench.screen

Processor time of the main thread, so that a busy machine changes little.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import anyio
from textual.app import App, ComposeResult
from textual.widgets import DataTable

from tests.support.stub_deck import StubDeck
from tests.tui.examples import shown
from tests.tui.test_scale import cost_of_a_change, large_view

COLUMNS = ("", "turn", "task", "agent", "state", "lane", "time", "what")
IDLE_SECONDS = 10.0


class _Stock(App[None]):
    """Textual's own table with as many rows."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        yield DataTable(cursor_type="row")

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        for name in COLUMNS:
            table.add_column(name, key=name, width=10)
        for number in range(self._rows):
            cells = ("◷", f"#{number}", f"T-{number}", "coder", "queued", "READY", "9 min", "what")
            table.add_row(*cells, key=str(number))


async def cost_in_a_stock_table(rows: int) -> float:
    """CPU seconds of this thread from a changed cell that is seen to its paint, at best."""
    app = _Stock(rows)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(0.5)
        table = app.query_one(DataTable)
        best = 10.0
        for number in range(5):
            started = time.thread_time()
            table.update_cell("3", "what", f"changed {number}")
            await asyncio.sleep(0.5)
            best = min(best, time.thread_time() - started)
    return best


async def opening_cost(rows: int) -> float:
    """CPU seconds of this thread until the first view stands on the screen."""
    deck = StubDeck(large_view(rows))
    started = time.thread_time()
    async with shown(deck):
        return time.thread_time() - started
    raise AssertionError("unreachable")


async def idle_share(rows: int) -> float:
    """The share of one processor that a dashboard takes on which nothing happens."""
    view = large_view(rows)
    still = {turn: one for turn, one in view.turns.items() if one.ended_ms is not None}
    quiet = replace(view, turns=still, running=0, queued=0, live=(), mode="idle")
    async with shown(StubDeck(quiet)):
        await asyncio.sleep(1.0)
        started = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        return (time.process_time() - started) / IDLE_SECONDS


async def _measure() -> None:
    small, middling, large = [await cost_of_a_change(rows) for rows in (1_000, 10_000, 100_000)]
    stock = await cost_in_a_stock_table(10_000)
    print(f"one changed row at 100,000 rows by at 1,000:  {large / small:.2f}")
    print(f"the same at 10,000, by DataTable's:           1/{stock / middling:.0f}")
    print(f"opening 100,000 turns, processor seconds:     {await opening_cost(100_000):.2f}")
    print(f"idle, share of one processor:                 {100 * await idle_share(100):.2f} %")


if __name__ == "__main__":
    anyio.run(_measure)
