"""A seat at another terminal: it is sent the view, and then what changes, until it hangs up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel

from batchdeck.core.control.views import lines_of
from batchdeck.core.port import Deck
from batchdeck.core.view import DeckView

REST_SECONDS = 0.2
"""A seat is told of changes at most five times a second."""

Send = Callable[[bytes], Awaitable[None]]


async def send_views(deck: Deck, send: Send, leaving: anyio.Event) -> None:
    """Sends the deck's view, and each later one, until the supervisor leaves: with its last."""
    view = deck.view
    for line in lines_of(view):
        await send(line)
        await anyio.lowlevel.checkpoint()  # a large view must not keep the engine from its work
    while not leaving.is_set():
        with anyio.move_on_after(REST_SECONDS):
            await leaving.wait()
        await _newer(deck, view, leaving)
        before, view = view, deck.view
        if view is not before:
            await send(b"".join(lines_of(view, before)))


async def _newer(deck: Deck, view: DeckView, leaving: anyio.Event) -> None:
    """Waits until there is another view, or the supervisor leaves."""

    async def until_it_leaves() -> None:
        await leaving.wait()
        waits.cancel_scope.cancel()

    async with anyio.create_task_group() as waits:
        waits.start_soon(until_it_leaves)
        await deck.wait_newer(view.revision)
        waits.cancel_scope.cancel()
