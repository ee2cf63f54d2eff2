"""The control socket's server: HTTP/JSON on a Unix socket that only the deck's owner can reach."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import socket
import stat
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import anyio
import anyio.abc

from batchdeck.core.commands import Command, Receipt
from batchdeck.core.control.http import COMMANDS, VERSION, talk
from batchdeck.core.control.watching import send_views
from batchdeck.core.control.wire import answer_document, command_from, page_document
from batchdeck.core.errors import BadInput, BatchdeckError
from batchdeck.core.keeping import LARGEST
from batchdeck.core.port import Deck

_log = logging.getLogger(__name__)

FAREWELL_SECONDS = 0.5
"""How long the last view may take on its way."""
MOST_CALLERS = 100
"""At once; a quarter of the files that may be open where that is less. More are hung up on."""
ACCEPT_AGAIN_SECONDS = 0.1
"""After nobody could be let in (no more open files)."""
MOST_AT_ONCE = {"output": 1 << 20, "history": 20_000}
"""Bytes of an output, and events, that one answer may have."""
REMEMBERED = 10_000
"""Answers kept in memory, so that a command sent twice is carried out once."""


class Server:
    """Answers one deck's callers; a command is answered once its effect is on disk."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck
        self._answers: dict[str, Receipt] = {}
        self._under_way: dict[str, anyio.Event] = {}
        self._leaving = anyio.Event()
        self._seats: set[anyio.Event] = set()

    async def answer(self, method: str, target: str, body: bytes) -> tuple[int, Any]:
        """Status and document for one request."""
        if method == "GET" and target != COMMANDS:
            return await self._look(target)
        if target != COMMANDS:
            return 404, {"error": "not_found", "message": f"There is nothing at {target}."}
        if method != "POST":
            return 405, {"error": "bad_input", "message": "Commands are sent by POST."}
        try:
            command = command_from(_document(body))
        except BatchdeckError as error:
            return 400, {"error": error.code, "message": error.message}
        receipt = await self._once(command)
        return _status(receipt), answer_document(receipt)

    async def _look(self, target: str) -> tuple[int, Any]:
        path, _, query = target.partition("?")
        try:
            numbers = {name: int(value) for name, value in parse_qsl(query)}
            if any(abs(number) > LARGEST for number in numbers.values()):
                raise ValueError
            what = path.removeprefix(f"/v{VERSION}/")
            _check_limit(what, numbers.get("limit", 0))
            found = await self._looked_up(what, numbers)
        except (TypeError, ValueError):
            return 400, {"error": "bad_input", "message": f"{target} is not a question."}
        except BatchdeckError as error:
            return 400, {"error": error.code, "message": error.message}
        if found is None:
            return 404, {"error": "not_found", "message": f"There is nothing at {target}."}
        return 200, found

    async def _looked_up(self, what: str, numbers: dict[str, int]) -> Any:
        match what:
            case "health":
                return {"deck": self._deck.view.deck, "version": VERSION, "pid": os.getpid()}
            case "output":
                return page_document(await self._deck.output(**numbers))
            case "history":
                return list(await self._deck.events(**numbers))
            case "spent":
                return asdict(await self._deck.spent(**numbers))
            case "messages":
                return [asdict(message) for message in await self._deck.messages(**numbers)]
        return None

    async def send_views(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Sends the view, and what changes in it, until the supervisor leaves."""
        told = anyio.Event()
        self._seats.add(told)
        try:
            await send_views(self._deck, send, self._leaving)
        finally:
            told.set()
            self._seats.discard(told)

    async def leave(self) -> None:
        """Lets those who watch know the last that is to be known."""
        self._leaving.set()
        with anyio.move_on_after(FAREWELL_SECONDS):
            for told in tuple(self._seats):
                await told.wait()

    async def _once(self, command: Command) -> Receipt:
        under_way = self._under_way.get(command.id)
        if under_way is not None:
            await under_way.wait()
        known = self._answers.get(command.id)
        if known is not None:
            return known
        done = self._under_way[command.id] = anyio.Event()
        try:
            receipt = await self._deck.submit(command)
        finally:
            done.set()
            self._under_way.pop(command.id, None)
        self._answers[command.id] = receipt
        if len(self._answers) > REMEMBERED:
            del self._answers[next(iter(self._answers))]
        return receipt


def _check_limit(what: str, limit: int) -> None:
    most = MOST_AT_ONCE.get(what, LARGEST)
    if not 0 <= limit <= most:
        raise BadInput(f"{what}: {limit} is not a limit; 0 to {most} is.")


def _document(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BadInput("The request is not JSON.") from None


def _status(receipt: Receipt) -> int:
    if receipt.accepted:
        return 200
    codes: Mapping[int, int] = {2: 400, 3: 409, 4: 503}
    return codes.get(receipt.exit_code, 500)


@asynccontextmanager
async def served(deck: Deck, path: Path) -> AsyncIterator[None]:
    """Listens on `path` while the block runs; the deck's lock is held, so nobody else does."""
    listener = await _listen(path)
    server = Server(deck)
    try:
        async with anyio.create_task_group() as callers:
            callers.start_soon(_serve, listener, server)
            yield
            await server.leave()
            callers.cancel_scope.cancel()
    finally:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


async def _serve(listener: anyio.abc.SocketListener, server: Server) -> None:
    """Lets callers in, up to a bound: they must not take the descriptors that agents need."""
    seats = anyio.Semaphore(_most_callers())
    async with listener, anyio.create_task_group() as callers:
        while True:
            stream = await _next_caller(listener)
            try:
                seats.acquire_nowait()
            except anyio.WouldBlock:
                await stream.aclose()
            else:
                callers.start_soon(_seated, stream, server, seats)


def _most_callers() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CALLERS if soft == resource.RLIM_INFINITY else min(MOST_CALLERS, soft // 4)


async def _next_caller(listener: anyio.abc.SocketListener) -> anyio.abc.SocketStream:
    """Waits where nobody can be let in now: it ends neither the door nor the deck."""
    raw = listener.extra(anyio.abc.SocketAttribute.raw_socket)
    told = False
    while True:
        await anyio.wait_readable(raw)  # see `http._received`: an accept must not be cancelled
        try:
            return await listener.accept()
        except (OSError, anyio.BrokenResourceError) as error:
            if not told:
                _log.error("callers wait at the control socket: %s", error.__cause__ or error)
            told = True
            await anyio.sleep(ACCEPT_AGAIN_SECONDS)


async def _seated(stream: anyio.abc.SocketStream, server: Server, seats: anyio.Semaphore) -> None:
    try:
        await _caller(stream, server)
    finally:
        seats.release()


async def _listen(path: Path) -> anyio.abc.SocketListener:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise BadInput(f"{path} is not a socket; move it away.")
        path.unlink()  # of a supervisor that is gone: the lock is ours
    # its folder is 0700; a narrower umask meanwhile would reach files that other threads make
    return await anyio.create_unix_listener(path, mode=0o600)


async def _caller(stream: anyio.abc.SocketStream, server: Server) -> None:
    """One connection: requests one after the other."""
    async with stream:
        if not _is_owner(stream):
            return
        try:
            await talk(stream, server)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            pass
        except Exception:  # noqa: BLE001 - one caller's fault must not close the door for the others
            _log.exception("a caller could not be answered")


def _is_owner(stream: anyio.abc.SocketStream) -> bool:
    """Whether the process at the other end is of the deck's owner (or root)."""
    raw: socket.socket = stream.extra(anyio.abc.SocketAttribute.raw_socket)
    if not sys.platform.startswith("linux"):
        return True  # the folder's mode 0700 keeps others out
    size = struct.calcsize("3i")
    peer = raw.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", peer)
    return uid in (os.geteuid(), 0)
