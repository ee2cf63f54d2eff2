"""A deck that another process dispatches, through its control socket: the same door as ours."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import httpx
from pydantic import TypeAdapter

from batchdeck.core.commands import Command, Receipt
from batchdeck.core.control.client import ANSWER_SECONDS, PATIENCE_SECONDS
from batchdeck.core.control.http import COMMANDS, HEALTH, VERSION, VIEW
from batchdeck.core.control.views import Mirror
from batchdeck.core.control.wire import command_document, page_from, receipt_from
from batchdeck.core.errors import BadInput, NoSupervisor
from batchdeck.core.model.budget import TurnSpent
from batchdeck.core.model.conversation import Message
from batchdeck.core.model.event import Event
from batchdeck.core.port import OutputPage
from batchdeck.core.view import DeckView

AGAIN_SECONDS = 1.0
"""After the supervisor has gone, until it is looked for once more."""
SOON_SECONDS = 0.1
"""The same while it was never seen: one that has just started opens its socket last."""
LOADING_SECONDS = 60.0
"""How long the first view of a large deck may take once it has begun to come."""
GONE = "the supervisor has gone: this is what it last said"
FROZEN = "The supervisor does not answer; is its process stopped? Nothing was sent."
ONLY_LOOKS = "attached to look only: nothing is changed from here"

_SPENT = TypeAdapter(TurnSpent)
_MESSAGES = TypeAdapter(list[Message])


class RemoteDeck:
    """Shows what the supervisor tells, and hands it what the operator wants.

    When the supervisor goes, what it last said stays, marked as such; when one is back, its word
    counts again.
    """

    def __init__(self, client: httpx.AsyncClient, *, read_only: bool = False) -> None:
        self._client = client
        self._read_only = read_only
        self._mirror = Mirror()
        self._view = DeckView()
        self._newer = anyio.Event()
        self.heard = anyio.Event()
        """The supervisor has begun to tell."""

    @property
    def view(self) -> DeckView:
        return self._view

    async def wait_newer(self, revision: int) -> DeckView:
        """See `Deck.wait_newer`."""
        while self._view.revision <= revision:
            await self._newer.wait()
        return self._view

    async def submit(self, command: Command) -> Receipt:
        """See `Deck.submit`."""
        if self._read_only:
            return _refusal(BadInput(ONLY_LOOKS, code="read_only"))
        try:
            if not await self._answers():
                return _refusal(NoSupervisor(FROZEN))
            found = await self._client.post(COMMANDS, json=command_document(command), timeout=None)
        except httpx.TransportError:
            return _refusal(NoSupervisor("The supervisor has gone; nobody takes this."))
        return receipt_from(found.json())

    async def _answers(self) -> bool:
        """Whether the supervisor says anything; one that is stopped would do it much later."""
        with anyio.move_on_after(ANSWER_SECONDS) as waiting:
            await self._client.get(HEALTH, timeout=None)
        return not waiting.cancelled_caught

    async def output(self, turn: int, start: int = 0, limit: int = 65536) -> OutputPage:
        """See `Deck.output`."""
        return page_from(await self._get("output", turn=turn, start=start, limit=limit))

    async def events(self, after: int = 0, limit: int = 1000) -> Sequence[Event]:
        """See `Deck.events`."""
        found = await self._get("history", after=after, limit=limit)
        return [Event._make(noted) for noted in found]

    async def spent(self, turn: int) -> TurnSpent:
        """See `Deck.spent`."""
        return _SPENT.validate_python(await self._get("spent", turn=turn))

    async def messages(self, conversation: int) -> Sequence[Message]:
        """See `Deck.messages`."""
        return _MESSAGES.validate_python(await self._get("messages", conversation=conversation))

    async def _get(self, what: str, **query: int) -> Any:
        try:
            found = await self._client.get(f"/v{VERSION}/{what}", params=query)
        except httpx.TransportError:
            raise NoSupervisor("The supervisor has gone; this cannot be looked up.") from None
        document = found.json()
        if found.status_code != 200:
            raise BadInput(document["message"], code=document["error"])
        return document

    # -- following

    async def follow(self) -> None:
        """Takes in what the supervisor tells, again and again, until it is cancelled."""
        while not self._client.is_closed:
            with contextlib.suppress(httpx.TransportError):
                await self._follow_one()
            if self._view.revision and self._view.supervised:
                self._publish(self._mirror.view(supervised=False, mode="stopped", banner=GONE))
            await anyio.sleep(AGAIN_SECONDS if self._view.revision else SOON_SECONDS)

    async def _follow_one(self) -> None:
        async with self._client.stream("GET", VIEW, timeout=None) as told:
            self._mirror.forget()
            rest = b""
            async for piece in told.aiter_bytes():
                self.heard.set()
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    view = self._mirror.take(line)
                    if view is not None:
                        self._publish(view)

    def _publish(self, view: DeckView) -> None:
        self._view = view
        newer, self._newer = self._newer, anyio.Event()
        newer.set()


def _refusal(error: BadInput | NoSupervisor) -> Receipt:
    return Receipt(
        accepted=False, error=error.code, message=error.message, exit_code=error.exit_code
    )


async def _hang_up(client: httpx.AsyncClient, tasks: anyio.abc.TaskGroup) -> None:
    """Ends what follows by closing what it reads from: see `core/control/http.py` on cancelling."""
    with anyio.CancelScope(shield=True):
        await client.aclose()
    tasks.cancel_scope.cancel()


@asynccontextmanager
async def attached(path: Path, *, read_only: bool = False) -> AsyncIterator[RemoteDeck]:
    """The deck whose supervisor listens at `path`, once it has said how the deck stands.

    Raises:
        NoSupervisor: nobody answers there.
    """
    transport = httpx.AsyncHTTPTransport(uds=str(path))
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://deck") as client,
        anyio.create_task_group() as tasks,
    ):
        deck = RemoteDeck(client, read_only=read_only)
        tasks.start_soon(deck.follow)
        with anyio.move_on_after(PATIENCE_SECONDS):
            await deck.heard.wait()
        with anyio.move_on_after(LOADING_SECONDS if deck.heard.is_set() else 0):
            await deck.wait_newer(0)
        answered = bool(deck.view.revision)
        try:
            if answered:
                yield deck
        finally:
            await _hang_up(client, tasks)
    if answered:
        return
    raise NoSupervisor(f"The supervisor does not answer at {path}. Try again.")
