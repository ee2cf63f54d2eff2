"""The control socket's server: HTTP/JSON on a Unix socket that only the deck's owner can reach."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import stat
import struct
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import h11

from batchdeck.core.commands import Command, Receipt
from batchdeck.core.control.wire import answer_document, command_from
from batchdeck.core.errors import BadInput, BatchdeckError
from batchdeck.core.port import Deck

_log = logging.getLogger(__name__)

VERSION = 1
MOST_BYTES = 5 * 1024 * 1024
"""Of one request."""
IDLE_SECONDS = 30.0
"""A peer that sends nothing for so long is let go."""
REMEMBERED = 10_000
"""Answers kept in memory, so that a command sent twice is carried out once."""


class Server:
    """Answers one deck's callers; a command is answered once its effect is on disk."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck
        self._answers: dict[str, Receipt] = {}
        self._under_way: dict[str, anyio.Event] = {}

    async def answer(self, method: str, target: str, body: bytes) -> tuple[int, Any]:
        """Status and document for one request."""
        if method == "GET" and target == f"/v{VERSION}/health":
            return 200, {"deck": self._deck.view.deck, "version": VERSION, "pid": os.getpid()}
        if target != f"/v{VERSION}/commands":
            return 404, {"error": "not_found", "message": f"There is nothing at {target}."}
        if method != "POST":
            return 405, {"error": "bad_input", "message": "Commands are sent by POST."}
        try:
            command = command_from(_document(body))
        except BatchdeckError as error:
            return 400, {"error": error.code, "message": error.message}
        receipt = await self._once(command)
        return _status(receipt), answer_document(receipt)

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
            callers.cancel_scope.cancel()
    finally:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


async def _serve(listener: anyio.abc.SocketListener, server: Server) -> None:
    async with listener:
        await listener.serve(lambda stream: _caller(stream, server))


async def _listen(path: Path) -> anyio.abc.SocketListener:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise BadInput(f"{path} is not a socket; move it away.")
        path.unlink()  # of a supervisor that is gone: the lock is ours
    before = os.umask(0o177)
    try:
        return await anyio.create_unix_listener(path, mode=0o600)
    finally:
        os.umask(before)


async def _caller(stream: anyio.abc.SocketStream, server: Server) -> None:
    """One connection: requests one after the other."""
    async with stream:
        if not _is_owner(stream):
            return
        with contextlib.suppress(
            anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream
        ):
            await _talk(stream, server)


def _is_owner(stream: anyio.abc.SocketStream) -> bool:
    """Whether the process at the other end is of the deck's owner (or root)."""
    raw: socket.socket = stream.extra(anyio.abc.SocketAttribute.raw_socket)
    if not sys.platform.startswith("linux"):
        return True  # the folder's mode 0700 keeps others out
    size = struct.calcsize("3i")
    peer = raw.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", peer)
    return uid in (os.geteuid(), 0)


async def _talk(stream: anyio.abc.SocketStream, server: Server) -> None:
    protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=64 * 1024)
    while True:
        try:
            request, body = await _request(protocol, stream)
        except h11.RemoteProtocolError as error:
            await _respond(protocol, stream, 400, {"error": "bad_input", "message": str(error)})
            return
        except BadInput as error:
            await _respond(protocol, stream, 413, {"error": error.code, "message": error.message})
            return
        if request is None:
            return
        method, target = request.method.decode("ascii"), request.target.decode("ascii", "replace")
        status, document = await server.answer(method, target, body)
        await _respond(protocol, stream, status, document)
        if protocol.our_state is h11.MUST_CLOSE:
            return
        protocol.start_next_cycle()


async def _request(
    protocol: h11.Connection, stream: anyio.abc.SocketStream
) -> tuple[h11.Request | None, bytes]:
    request: h11.Request | None = None
    body = bytearray()
    while True:
        event = protocol.next_event()
        if event is h11.NEED_DATA:
            protocol.receive_data(await _receive(stream))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MOST_BYTES:
                raise BadInput(f"A request may have {MOST_BYTES} bytes.")
        elif isinstance(event, h11.EndOfMessage):
            return request, bytes(body)
        else:
            return None, b""


async def _receive(stream: anyio.abc.SocketStream) -> bytes:
    """The next bytes; none when the peer has gone or says nothing."""
    with anyio.move_on_after(IDLE_SECONDS):
        try:
            return await stream.receive()
        except anyio.EndOfStream:
            return b""
    return b""


async def _respond(
    protocol: h11.Connection, stream: anyio.abc.SocketStream, status: int, document: Any
) -> None:
    if protocol.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    body = json.dumps(document).encode()
    headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
    response = h11.Response(status_code=status, headers=headers)
    parts = [protocol.send(part) for part in (response, h11.Data(data=body), h11.EndOfMessage())]
    await stream.send(b"".join(part for part in parts if part))
