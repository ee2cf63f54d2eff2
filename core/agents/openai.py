"""Chat agents: any server that speaks OpenAI's chat completions, streamed.

The protocol: `POST {base_url}/chat/completions` with `stream: true`; server-sent events with deltas
in `choices[].delta.content`, a `finish_reason`, usage in a last event where the server gives it,
and `[DONE]` (platform.openai.com/docs/api-reference/chat-streaming).
"""

from __future__ import annotations

import math
from dataclasses import replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
from httpx_sse import SSEError

from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.agents.chat_connection import transport_to
from batchdeck.core.agents.chat_stream import Answer, ServerSaid, error_in, events_of, take_in
from batchdeck.core.agents.dialects.limits import limit_from, usage_limit
from batchdeck.core.agents.output import EventOutput
from batchdeck.core.agents.pricing import priced
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.text import clean_text, one_line

CONNECT_SECONDS = 10.0
SEND_SECONDS = 30.0
CONNECTIONS = 32
"""Per endpoint."""


NOBODY_THERE = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)
_NO_USE = frozenset({*range(300, 400), 401, 402, 403, 404, 405, 407, 410})
"""Statuses of a wrong address, model or key, or of an account without money."""
_BUSY = frozenset({408, 429, 502, 503, 504, *range(520, 531)})
"""Statuses of a server that may answer the same request later; from 520 on those of proxies."""
_FINISHED = frozenset({"stop", "eos", "eos_token", "stop_sequence", "end_turn"})
"""How servers say that the model has come to its end."""
_UNFINISHED = {
    "length": "the model's length limit cut the answer",
    "content_filter": "the server's content filter cut the answer",
    "tool_calls": "the model wants to call a tool, and chat agents have none",
    "function_call": "the model wants to call a tool, and chat agents have none",
}


class BadKey(Exception):
    """What stands in the key's variable is no key; the words do not quote it."""


class OpenAIAgent:
    """One client per endpoint; a turn is one request, cancelled by closing its stream."""

    outlives = False

    def __init__(self) -> None:
        self._clients: dict[str, httpx.AsyncClient] = {}
        self._limiters: dict[str, anyio.CapacityLimiter] = {}

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        """See `Adapter.run`."""
        if control.stop.is_set():
            return _stopped(Answer())
        answer = Answer()
        try:
            output = await anyio.to_thread.run_sync(EventOutput, assignment.run)
        except OSError as error:
            words = f"the attempt could not be started: {error.strerror or error}"
            return _no_use(words, answer)
        try:
            outcome = await self._until_stopped(assignment, control, answer, output)
            outcome = priced(outcome, assignment.agent)
            if outcome.error and outcome.state is not TurnState.CANCELLED:
                output.write_error(outcome.error)
            return outcome
        finally:
            output.close()

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        """A request ends with its supervisor, so there is nothing to go on with."""
        return Outcome(TurnState.LOST, AttemptEnd.LOST, error="lost: it ended with its supervisor")

    async def end_leftovers(self, run: Path) -> int:
        """See `Adapter.end_leftovers`: it has no process."""
        return 0

    def never_started(self, run: Path) -> bool:
        """See `Adapter.never_started`."""
        return True

    def at_work(self, run: Path) -> bool:
        """See `Adapter.at_work`: never longer than somebody watches."""
        return False

    async def close(self) -> None:
        """Closes every connection."""
        for client in self._clients.values():
            await client.aclose()

    async def _until_stopped(
        self, assignment: Assignment, control: Control, answer: Answer, output: EventOutput
    ) -> Outcome:
        problem: Outcome | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_when_asked, control, tasks.cancel_scope)
            with anyio.move_on_after(assignment.agent.timeout_seconds) as time_limit:
                problem = await self._ask(assignment, control, answer, output)
            tasks.cancel_scope.cancel()
        if time_limit.cancelled_caught:
            return _timed_out(assignment.agent, answer)
        if control.stop.is_set() and not answer.whole:
            return _stopped(answer)
        return problem or _answered(answer)

    async def _ask(
        self, assignment: Assignment, control: Control, answer: Answer, output: EventOutput
    ) -> Outcome | None:
        agent = assignment.agent
        base = agent.base_url or ""
        limiter = self._limiters.setdefault(base, anyio.CapacityLimiter(CONNECTIONS))
        try:
            async with limiter:
                control.started(None)
                await self._stream(assignment, answer, output)
        except ServerSaid as error:
            return _refused(error, answer)
        except BadKey as error:
            return _no_use(str(error), answer)
        except httpx.LocalProtocolError:  # its words may quote a header
            return _no_use(f"{base}: the request could not be written", answer)
        except SSEError:
            return _no_use(f"{base}: the server did not stream its answer", answer)
        except httpx.HTTPError as error:
            words = f"{base}: {one_line(str(error)) or type(error).__name__}"
            if isinstance(error, NOBODY_THERE):
                return _no_use(words, answer)
            if not answer.begun:
                return _failed(words, answer, limited=limit_from(words))
            return _failed(words, answer)
        return None

    async def _stream(self, assignment: Assignment, answer: Answer, output: EventOutput) -> None:
        agent = assignment.agent
        client = self._client(agent)
        body = {
            "model": agent.model,
            "messages": messages_of(assignment),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        headers = headers_of(assignment)
        async with client.stream("POST", "chat/completions", json=body, headers=headers) as reply:
            if reply.status_code != httpx.codes.OK:
                raise await error_in(reply)
            answer.begun = True
            async for event in events_of(reply):
                if event == "[DONE]":
                    answer.done = True
                    return
                output.write(event.encode("utf-8", "replace"))
                take_in(event, answer)

    def _client(self, agent: Agent) -> httpx.AsyncClient:
        base = (agent.base_url or "").rstrip("/") + "/"
        client = self._clients.get(base)
        if client is None:
            # between two pieces of an answer a model may think for as long as it likes
            timeout = httpx.Timeout(None, connect=CONNECT_SECONDS, write=SEND_SECONDS)
            client = self._clients[base] = httpx.AsyncClient(
                base_url=base, timeout=timeout, transport=transport_to(base, CONNECTIONS)
            )
        return client


def messages_of(assignment: Assignment) -> list[dict[str, str]]:
    """The conversation so far, and what is asked now."""
    roles = {"operator": "user", "agent": "assistant"}
    said = [{"role": roles[role], "content": text} for role, text in assignment.said]
    return [*said, {"role": "user", "content": assignment.prompt}]


def headers_of(assignment: Assignment) -> dict[str, str]:
    """The key from the named variable, and the attempt's id so that a repeat can be recognised."""
    headers = {"Idempotency-Key": assignment.attempt, "Accept": "text/event-stream"}
    name = assignment.agent.api_key_env
    key = (assignment.environment.get(name) or "").strip() if name is not None else ""
    if key:
        if not (key.isascii() and key.isprintable()):
            raise BadKey(f"${name} holds characters that no key may have")
        headers["Authorization"] = f"Bearer {key}"
    return headers


async def _stop_when_asked(control: Control, scope: anyio.CancelScope) -> None:
    await control.stop.wait()
    scope.cancel()


def _outcome(state: TurnState, answer: Answer, error: str | None, **fields: Any) -> Outcome:
    return Outcome(
        state,
        text=clean_text(answer.text),
        error=error,
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        **fields,
    )


def _answered(answer: Answer) -> Outcome:
    finish = None if answer.finish is None else answer.finish.casefold()
    if not answer.whole:
        return _outcome(TurnState.INCOMPLETE, answer, "the stream ended before the answer did")
    if finish in _FINISHED or (finish is None and answer.text):
        return _outcome(TurnState.SUCCEEDED, answer, None, exit_code=0)
    if finish is None:
        return _outcome(TurnState.INCOMPLETE, answer, "the stream ended without an answer")
    words = _UNFINISHED.get(finish) or f"the answer is not finished: {one_line(finish, 60)}"
    return _outcome(TurnState.INCOMPLETE, answer, words)


def _failed(words: str, answer: Answer, **fields: Any) -> Outcome:
    return _outcome(TurnState.FAILED, answer, words, **fields)


def _no_use(words: str, answer: Answer) -> Outcome:
    """No other turn would fare better: the agent is to be held."""
    return _failed(words, answer, surroundings="agent")


def _refused(error: ServerSaid, answer: Answer) -> Outcome:
    if error.status in _NO_USE:
        return _no_use(error.words, answer)
    if error.status in _BUSY:
        return _failed(error.words, answer, limited=limited_until(error.words, error.retry_after))
    if error.status is None and usage_limit(f"{error.words} {error.kind}"):
        return _failed(error.words, answer, limited=limit_from(error.words))
    return _failed(error.words, answer)


def limited_until(words: str, retry_after: str | None) -> UsageLimit:
    """What a 429 says: `Retry-After` in seconds or as a date (RFC 9110, 10.2.3), or its words."""
    limit = limit_from(words)
    if retry_after is None:
        return limit
    try:
        seconds = float(retry_after)
    except ValueError:
        return _limited_until_date(limit, retry_after)
    if not 0 <= seconds < math.inf:
        return limit
    return replace(limit, after_seconds=seconds, at_ms=None, time_of_day=None)


def _limited_until_date(limit: UsageLimit, date: str) -> UsageLimit:
    try:
        at = parsedate_to_datetime(date)
    except ValueError:
        return limit
    return replace(limit, at_ms=int(at.timestamp() * 1_000), after_seconds=None, time_of_day=None)


def _stopped(answer: Answer) -> Outcome:
    return _outcome(TurnState.CANCELLED, answer, "stopped", end=AttemptEnd.STOPPED)


def _timed_out(agent: Agent, answer: Answer) -> Outcome:
    words = f"no answer within {agent.timeout_seconds:g} s"
    return _outcome(TurnState.FAILED, answer, words, end=AttemptEnd.TIMED_OUT)
