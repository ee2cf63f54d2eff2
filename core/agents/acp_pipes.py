"""A process's pipes as messages of JSON-RPC; what is none is only heard."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import anyio
import anyio.abc
from acp.schema import PromptResponse
from pydantic import ValidationError

from batchdeck.core.agents.acp_report import Report
from batchdeck.core.agents.dialects.registry import LINE_CAP
from batchdeck.core.text import LineSplitter

_INTERNAL_ERROR = -32603


class Pipes:
    """The transport that the protocol's library is given."""

    def __init__(self, process: anyio.abc.Process, report: Report) -> None:
        self._process = process
        self._report = report
        self._splitter = LineSplitter(LINE_CAP)
        self._messages: deque[dict[str, Any]] = deque()
        self._sending = anyio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """
        Raises:
            ConnectionError: the agent reads no more.
        """
        line = json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"
        assert self._process.stdin is not None
        try:
            async with self._sending:
                await self._process.stdin.send(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionError("the agent reads no more") from None

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None: there will be none."""
        assert self._process.stdout is not None
        while not self._messages:
            try:
                chunk = await self._process.stdout.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return None
            for line in self._splitter.feed(chunk):
                self._take(line)
        return self._messages.popleft()

    def _take(self, line: bytes) -> None:
        message = _message_in(line)
        if message is None:
            self._report.heard(line)
            return
        self._report.message(line, message)
        if "method" in message and "id" not in message:
            # told at once and in order; of what the library does not know it would say so itself
            self._report.notified(message)
            return
        self._messages.append(_mended(message))

    async def hear_errors(self) -> None:
        """Standard error is read to its end: a full pipe would stop the agent for ever."""
        assert self._process.stderr is not None
        splitter = LineSplitter(LINE_CAP)
        try:
            async for chunk in self._process.stderr:
                for line in splitter.feed(chunk):
                    self._report.heard(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async def close(self) -> None:
        """The process sees its standard input end."""
        if self._process.stdin is not None:
            await self._process.stdin.aclose()


def _message_in(line: bytes) -> dict[str, Any] | None:
    """A message of the protocol; None: the line is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    named = isinstance(message.get("method", ""), str)
    answers = isinstance(message.get("id"), int | str | None)
    return message if named and answers else None


def _mended(message: dict[str, Any]) -> dict[str, Any]:
    """Without what is beside the point of an answer, and of a form that ends it for nothing."""
    error, result = message.get("error"), message.get("result")
    if error is not None and not isinstance(error, dict):
        return {**message, "error": {"code": _INTERNAL_ERROR, "message": str(error)}}
    if isinstance(result, dict) and "stopReason" in result:
        try:
            PromptResponse.model_validate(result)
        except ValidationError:  # such as tokens that are counted in a new way
            return {**message, "result": {"stopReason": result["stopReason"]}}
    return message
