"""A chat-completions server on this machine that says what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class Asked:
    """One request that came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(slots=True)
class ChatServer:
    """What the server is to say, and what it was asked."""

    port: int
    reply: Callable[[BaseHTTPRequestHandler], None]
    asked: list[Asked] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when a peer hung up in the middle."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


def events(*documents: Any, done: bool = True) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply that streams these documents, or texts as they are."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for document in documents:
            text = document if isinstance(document, str) else json.dumps(document)
            handler.wfile.write(f"data: {text}\n\n".encode())
        if done:
            handler.wfile.write(b"data: [DONE]\n\n")

    return reply


def delta(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}


def error(status: int, body: str, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply that is an error before anything is streamed."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body.encode())

    return reply


@contextmanager
def chat_server(reply: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[ChatServer]:
    """A server on a free port of the loopback interface while the block runs."""
    served: list[ChatServer] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length))
            served[0].asked.append(Asked(self.path, dict(self.headers), body))
            try:
                served[0].reply(self)
            except (BrokenPipeError, ConnectionResetError):
                served[0].gone.set()

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.append(ChatServer(server.server_address[1], reply))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served[0]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
