"""What a chat server streams, read with care: an answer in pieces, or why there is none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from httpx_sse import EventSource

from batchdeck.core.foreign_json import count, word
from batchdeck.core.text import one_line

MOST_TEXT = 4 * 1024 * 1024
"""Characters of one answer; a server that never ends is cut there."""
MOST_BYTES = 4 * MOST_TEXT
"""Of one event of a stream; what is longer is not waited for."""
_ERROR_BYTES = 4096
_UNKNOWN_FORM = "the server sent an event of an unknown form"

_Kind = TypeVar("_Kind")


class ServerSaid(Exception):
    """The server answered with an error, or with something that is no answer."""

    def __init__(self, words: str, status: int | None = None, retry_after: str | None = None):
        super().__init__(words)
        self.words = words
        self.status = status
        self.retry_after = retry_after


@dataclass(slots=True)
class Answer:
    """What has come so far."""

    text: str = ""
    finish: str | None = None
    done: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def whole(self) -> bool:
        """The server has said that this is all."""
        return self.done or self.finish is not None


class _Arriving(httpx.AsyncByteStream):
    """The bytes of a reply, refused where an event has no end: a reader would keep it whole."""

    def __init__(self, reply: httpx.Response) -> None:
        self._reply = reply
        self._bytes = 0

    def begin_event(self) -> None:
        self._bytes = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """
        Raises:
            ServerSaid: an event is longer than `MOST_BYTES`.
        """
        async for chunk in self._reply.aiter_bytes():
            self._bytes += len(chunk)
            if self._bytes > MOST_BYTES:
                raise ServerSaid("the server sent an event without an end")
            yield chunk


async def events_of(reply: httpx.Response) -> AsyncIterator[str]:
    """What each event of a stream holds, as it comes.

    Raises:
        ServerSaid: an event has no end.
        SSEError: it is no stream of events.
    """
    arriving = _Arriving(reply)
    # how the bytes were sent is dealt with; what they are is not
    kind = {"Content-Type": reply.headers.get("Content-Type", "")}
    measured = httpx.Response(reply.status_code, headers=kind, stream=arriving)
    async for event in EventSource(measured).aiter_sse():
        arriving.begin_event()
        yield event.data


def take_in(data: str, answer: Answer) -> None:
    """One event of the stream.

    Raises:
        ServerSaid: it reports an error, is no JSON or of another form, or the answer grows beyond
            all bounds.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise ServerSaid("the server sent what is no JSON") from None
    if not isinstance(document, dict):
        raise ServerSaid(_UNKNOWN_FORM)
    if document.get("error"):
        raise ServerSaid(_words_of(document["error"]))
    usage = document.get("usage")
    if isinstance(usage, Mapping):
        answer.tokens_in = count(usage, "prompt_tokens")
        answer.tokens_out = count(usage, "completion_tokens")
    for choice in _given(document, "choices", list) or ():
        _take_choice(choice, answer)
    if len(answer.text) > MOST_TEXT:
        raise ServerSaid("the answer has no end")


def _take_choice(choice: Any, answer: Answer) -> None:
    if not isinstance(choice, dict):
        raise ServerSaid(_UNKNOWN_FORM)
    delta = _given(choice, "delta", dict) or {}
    answer.text += _given(delta, "content", str) or ""
    answer.finish = _given(choice, "finish_reason", str) or answer.finish


def _given(event: Mapping[str, Any], name: str, kind: type[_Kind]) -> _Kind | None:
    """What stands under a name; None: nothing.

    Raises:
        ServerSaid: it is of another kind.
    """
    found = event.get(name)
    if found is not None and not isinstance(found, kind):
        raise ServerSaid(_UNKNOWN_FORM)
    return found


def _words_of(error: Any) -> str:
    if isinstance(error, str):
        return one_line(error)
    told = error if isinstance(error, Mapping) else {}
    words = (word(told, name) for name in ("message", "type", "code"))
    return one_line(next(filter(None, words), "an error without words"))


async def error_in(reply: httpx.Response) -> ServerSaid:
    """What a reply says that is an error from its beginning."""
    raw = b""
    async for chunk in reply.aiter_bytes():
        raw += chunk
        if len(raw) > _ERROR_BYTES:
            break
    try:
        words = _words_of(json.loads(raw)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        words = one_line(raw[:200].decode("utf-8", "replace"))
    return ServerSaid(words, reply.status_code, reply.headers.get("retry-after"))
