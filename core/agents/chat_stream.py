"""What a chat server streams, read with care: an answer in pieces, or why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import httpx
from httpx_sse import EventSource

from batchdeck.core.foreign_json import count, word
from batchdeck.core.text import one_line

MOST_TEXT = 4 * 1024 * 1024
"""Characters of one answer; a server that never ends is cut there."""
MOST_BYTES = 4 * MOST_TEXT
"""Of one event of a stream; what is longer is not waited for."""
ERROR_SECONDS = 30.0
"""For the words of an error, once its status is known."""
_ERROR_BYTES = 4096
_NUMBER = re.compile(r"[1-5]\d\d")
_UNKNOWN_FORM = "the server sent an event of an unknown form"

_Kind = TypeVar("_Kind")


class ServerSaid(Exception):
    """The server answered with an error, or with something that is no answer."""

    def __init__(
        self,
        words: str,
        status: int | None = None,
        retry_after: str | None = None,
        kind: str = "",
    ):
        """
        Args:
            status: By the numbers of HTTP, wherever it was said.
            kind: The server's own word for it, such as `rate_limit_exceeded`.
        """
        super().__init__(words)
        self.words = words
        self.status = status
        self.retry_after = retry_after
        self.kind = kind


@dataclass(slots=True)
class Answer:
    """What has come so far."""

    begun: bool = False
    """The server has taken the request on."""
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
        raise _error_of(document["error"])
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


def _error_of(error: Any) -> ServerSaid:
    """An error as servers write it, which may come with a number of HTTP or a word for its kind."""
    told = error if isinstance(error, Mapping) else {"message": error}
    words = [word(told, name) for name in ("message", "type", "code")]
    shown = one_line(next(filter(None, words), "an error without words"))
    return ServerSaid(shown, _status_of(told), kind=" ".join(words[1:]))


def _status_of(error: Mapping[str, Any]) -> int | None:
    said = (str(error.get(name)) for name in ("code", "status"))
    return next((int(number) for number in said if _NUMBER.fullmatch(number)), None)


async def error_in(reply: httpx.Response) -> ServerSaid:
    """What a reply says that is an error from its beginning."""
    raw = b""
    with anyio.move_on_after(ERROR_SECONDS):  # what has come by then says enough
        async for chunk in reply.aiter_bytes():
            raw += chunk
            if len(raw) > _ERROR_BYTES:
                break
    try:
        said = _error_of(json.loads(raw)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        said = ServerSaid(one_line(raw[:200].decode("utf-8", "replace")))
    status = reply.status_code
    words = f"HTTP {status}: {said.words or reply.reason_phrase or 'no words'}"
    return ServerSaid(words, status, reply.headers.get("retry-after"), said.kind)
