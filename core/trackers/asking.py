"""One question over HTTP, within bounds: its time, its size, the origin that the token is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx

from batchdeck import __version__
from batchdeck.core.text import clean_line
from batchdeck.core.trackers.answers import Answer, NoAnswer

MOST_BYTES = 5_000_000
MOST_REDIRECTS = 3
REQUEST_SECONDS = 10.0
"""A request takes no longer in all, however slowly the answer comes."""
CONNECT_SECONDS = 5.0
_REDIRECTS = (301, 302, 307, 308)


@dataclass(slots=True)
class _Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Asker:
    """Asks one origin, and nobody else; the token is sent to no other."""

    def __init__(self, base: str, headers: Mapping[str, str], seconds: float = REQUEST_SECONDS):
        self._base = httpx.URL(base.rstrip("/") + "/")
        self._seconds = seconds
        self._client = httpx.AsyncClient(
            headers={
                # what is not packed cannot be unpacked to more than it was
                "Accept-Encoding": "identity",
                "User-Agent": f"batchdeck/{__version__}",
                **headers,
            },
            timeout=httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
            follow_redirects=False,
        )

    async def get(
        self, where: str, params: Mapping[str, str] | None = None, etag: str | None = None
    ) -> Answer:
        """Asks for an address below the base, or one that an answer named.

        Redirects are followed within the origin only. 200 comes with what its JSON says, 304 with
        nothing; any other status with the server's message.

        Raises:
            NoAnswer: nothing came, or nothing that can be used.
        """
        url, moved = self._same_origin(where), False
        if params:
            url = url.copy_merge_params(params)
        for _ in range(MOST_REDIRECTS + 1):
            reply = await self._reply(url, etag)
            location = reply.headers.get("location")
            if reply.status not in _REDIRECTS or location is None:
                return _answer(reply, moved)
            url, moved, etag = self._same_origin(str(url.join(location))), True, None
        raise NoAnswer("sends us from address to address")

    def _same_origin(self, where: str) -> httpx.URL:
        try:
            url = self._base.join(where)
        except httpx.InvalidURL as error:
            raise NoAnswer("names an address that is none") from error
        if _origin(url) != _origin(self._base):
            raise NoAnswer(f"points to {clean_line(url.host, 60)}: not followed", wait=60.0)
        return url

    async def _reply(self, url: httpx.URL, etag: str | None) -> _Reply:
        headers = {} if etag is None else {"If-None-Match": etag}
        try:
            with anyio.fail_after(self._seconds):
                async with self._client.stream("GET", url, headers=headers) as response:
                    return await _read(response)
        except TimeoutError:
            raise NoAnswer("does not answer in time", is_down=True) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            words = f"cannot be reached ({type(error).__name__})"
            raise NoAnswer(words, is_down=True) from error

    async def close(self) -> None:
        await self._client.aclose()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    ports = {"http": 80, "https": 443}
    return url.scheme, url.host, url.port or ports.get(url.scheme)


async def _read(response: httpx.Response) -> _Reply:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise NoAnswer("answers in an encoding that was not asked for")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MOST_BYTES:
            raise NoAnswer(f"answers with more than {MOST_BYTES // 1_000_000} MB")
    return _Reply(response.status_code, response.headers, bytes(body))


def _answer(reply: _Reply, moved: bool) -> Answer:
    links = httpx.Response(200, headers={"link": reply.headers.get("link", "")}).links
    following = links.get("next", {}).get("url")
    content: Any = None
    if reply.status != 304:
        content = _content(reply)
    return Answer(reply.status, reply.headers, content, following, moved)


def _content(reply: _Reply) -> Any:
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        if reply.status == 200:
            kind = clean_line(reply.headers.get("content-type", "nothing known"), 60)
            raise NoAnswer(f"answers with something that is no JSON ({kind})") from None
        return None
