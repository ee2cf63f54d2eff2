"""HTTP/1.1 on one connection of the control socket: requests, answers, and one stream."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import anyio
import anyio.abc
import h11

from batchdeck.core.errors import BadInput

VERSION = 1
COMMANDS = f"/v{VERSION}/commands"
HEALTH = f"/v{VERSION}/health"
VIEW = f"/v{VERSION}/view"
"""Where the view, and what changes in it, is streamed."""
MOST_BYTES = 5 * 1024 * 1024
"""Of one request."""
IDLE_SECONDS = 30.0
"""A peer that sends nothing for so long is let go."""


class Answers(Protocol):
    """What there is to say."""

    async def answer(self, method: str, target: str, body: bytes) -> tuple[int, Any]: ...

    async def send_views(self, send: Callable[[bytes], Awaitable[None]]) -> None: ...


async def talk(stream: anyio.abc.SocketStream, answers: Answers) -> None:
    """Answers one connection's requests, one after the other, until it ends."""
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
        if (method, target) == ("GET", VIEW):
            await _stream(protocol, stream, answers)
            return
        status, document = await answers.answer(method, target, body)
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
        return await _received(stream)
    return b""


async def _received(stream: anyio.abc.SocketStream) -> bytes:
    """The next bytes; none when the peer has gone.

    A `receive` that waits by itself must not be cancelled: on asyncio, one whose socket becomes
    readable in that moment ends in an `InvalidStateError` that nobody can catch.
    """
    await anyio.wait_readable(stream.extra(anyio.abc.SocketAttribute.raw_socket))
    try:
        return await stream.receive()
    except anyio.EndOfStream:
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


async def _stream(
    protocol: h11.Connection, stream: anyio.abc.SocketStream, answers: Answers
) -> None:
    """JSON lines until the supervisor leaves, or the peer hangs up."""

    async def send(data: bytes) -> None:
        await stream.send(protocol.send(h11.Data(data=data)) or b"")

    async def until_it_hangs_up() -> None:
        with contextlib.suppress(anyio.BrokenResourceError):
            while await _received(stream):
                pass
        tasks.cancel_scope.cancel()

    response = h11.Response(status_code=200, headers=[("content-type", "application/jsonl")])
    await stream.send(protocol.send(response) or b"")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(until_it_hangs_up)
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await answers.send_views(send)
            await stream.send(protocol.send(h11.EndOfMessage()) or b"")
        tasks.cancel_scope.cancel()
