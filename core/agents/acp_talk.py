"""One attempt's conversation with an agent that speaks ACP, from the handshake to its outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
from acp import PROTOCOL_VERSION, text_block
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.schema import Implementation, PromptResponse
from pydantic import ValidationError

from batchdeck.core.agents.acp_client import Client
from batchdeck.core.agents.acp_pipes import Pipes
from batchdeck.core.agents.acp_report import Report
from batchdeck.core.agents.adapter import Assignment, Control, Outcome, StopSign
from batchdeck.core.agents.dialects.dialect import bounded, session_id
from batchdeck.core.agents.dialects.limits import usage_limit
from batchdeck.core.agents.question import with_question
from batchdeck.core.executors import attempt_files
from batchdeck.core.model.conversation import Role
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.text import clean_text, one_line

CANCEL_SECONDS = 5.0
"""How long an agent that was told to cancel may take to say so."""
_AUTH_REQUIRED = -32000
_MOST_OF_FAULT = 120


class Talk:
    """One attempt's conversation with its process."""

    def __init__(
        self,
        assignment: Assignment,
        control: Control,
        folder: Path,
        process: anyio.abc.Process,
        report: Report,
    ) -> None:
        self._assignment = assignment
        self._control = control
        self._folder = folder
        self._process = process
        self._report = report
        self._client = Client(report, control, folder)
        self._pipes = Pipes(process, report)
        client: Any = self._client
        self._connection = ClientSideConnection(client, self._pipes)
        self._session: str | None = None
        self._goes_on = False
        """The session is an earlier one, which has the conversation so far."""

    async def close(self) -> None:
        """Ends the connection; the process sees its standard input end."""
        try:
            await self._connection.close()
        finally:
            self._report.output.close()

    async def to_the_end(self, handshake_seconds: float) -> Outcome:
        """Has the prompt answered, within the agent's time limit and until it is to stop."""
        outcome: Outcome | None = None
        limit = self._assignment.agent.timeout_seconds
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pipes.hear_errors)
            for sign in (self._control.stop, self._client.nobody_there):
                tasks.start_soon(self._cancel_when, sign, tasks.cancel_scope)
            with anyio.move_on_after(limit) as time_limit:
                outcome = await self._answered(handshake_seconds)
            tasks.cancel_scope.cancel()
        if time_limit.cancelled_caught:
            words = f"timed out after {limit:g} s"
            return self._outcome(TurnState.FAILED, words, end=AttemptEnd.TIMED_OUT)
        succeeded = outcome is not None and outcome.state is TurnState.SUCCEEDED
        came_too_late = succeeded and not self._client.has_cancelled
        if self._control.stop.is_set() and not came_too_late:
            return self._outcome(TurnState.CANCELLED, "stopped", end=AttemptEnd.STOPPED)
        if outcome is None or self._client.unanswered is not None:
            words = f"asked, and nobody is there to answer: {self._client.unanswered}"
            return self._outcome(TurnState.FAILED, words)
        return outcome if outcome.surroundings is not None else await self._asked(outcome)

    async def _asked(self, outcome: Outcome) -> Outcome:
        """With what it left for the operator, if it did."""
        ask = self._assignment.run / attempt_files.ASK
        return await anyio.to_thread.run_sync(with_question, outcome, ask)

    async def _answered(self, handshake_seconds: float) -> Outcome:
        try:
            with anyio.move_on_after(handshake_seconds) as handshake:
                await self._shake_hands()
            if handshake.cancelled_caught:
                return self._no_handshake(f"did not answer within {handshake_seconds:g} s")
            assert self._session is not None
            answer = await self._connection.prompt(
                session_id=self._session, prompt=[text_block(self._prompt())]
            )
        except RequestError as error:
            return self._refused(error)
        except ConnectionError:
            if self._session is None:
                return self._no_handshake("ended before it answered")
            return self._outcome(TurnState.INCOMPLETE, self._with_noise("it ended in its work"))
        except ValidationError as error:
            words = f"answered in a form that nobody knows: {_first_fault(error)}"
            if self._session is None:
                return self._no_handshake(words)
            return self._outcome(TurnState.INCOMPLETE, f"it {words}")
        return self._judged(answer)

    async def _shake_hands(self) -> None:
        connection, cwd = self._connection, str(self._folder)
        answer = await connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_info=Implementation(name="batchdeck", version="0"),
        )
        able = answer.agent_capabilities
        earlier = self._assignment.session
        if earlier is not None and able is not None and able.load_session:
            self._goes_on = await self._has_loaded(earlier, cwd)
        if self._goes_on:
            self._session = earlier
            return
        self._session = (await connection.new_session(cwd=cwd, mcp_servers=[])).session_id

    async def _has_loaded(self, session: str, cwd: str) -> bool:
        """Whether the agent still has a session. Raises RequestError where it wants a login."""
        self._report.replaying = True
        try:
            await self._connection.load_session(cwd=cwd, session_id=session, mcp_servers=[])
        except RequestError as error:
            if error.code == _AUTH_REQUIRED:
                raise
            return False
        finally:
            self._report.replaying = False
        return True

    def _prompt(self) -> str:
        """What is asked, with the exchange so far in front of it where no session has it."""
        asked = self._assignment
        if self._goes_on or not asked.said:
            return asked.prompt
        said = [
            f"{'You said' if role == Role.AGENT else 'You were told'}:\n{text}"
            for role, text in asked.said
        ]
        return "\n\n".join([*said, f"Now you are told:\n{asked.prompt}"])

    async def _cancel_when(self, sign: StopSign, scope: anyio.CancelScope) -> None:
        await sign.wait()
        if self._session is not None:
            with anyio.move_on_after(CANCEL_SECONDS):
                try:
                    await self._connection.cancel(session_id=self._session)
                except ConnectionError:
                    pass  # it has ended already
                await anyio.sleep_forever()
        scope.cancel()

    # -- how it ended

    def _outcome(self, state: TurnState, error: str | None, **fields: Any) -> Outcome:
        report = self._report
        session = session_id({"id": self._session}, "id") if self._session else None
        return Outcome(
            state,
            text=bounded(report.said),
            error=error,
            session=session,
            session_cost=report.session_cost,
            **fields,
        )

    def _with_noise(self, words: str) -> str:
        noise = self._report.last_noise
        return f"{words}; it printed: {noise}" if noise else words

    def _no_handshake(self, words: str) -> Outcome:
        program = self._assignment.agent.command[0]
        told = self._with_noise(f"{program} speaks no ACP: it {words}")
        return self._outcome(TurnState.FAILED, told, surroundings="agent")

    def _refused(self, error: RequestError) -> Outcome:
        words = _words_of(error)
        if error.code == _AUTH_REQUIRED:
            told = f"the agent wants a login first: {words}"
            return self._outcome(TurnState.FAILED, told, surroundings="agent")
        return self._outcome(TurnState.FAILED, words, limited=usage_limit(words))

    def _judged(self, answer: PromptResponse) -> Outcome:
        usage = answer.usage
        used = {
            "tokens_in": None if usage is None else usage.input_tokens,
            "tokens_out": None if usage is None else usage.output_tokens,
        }
        match answer.stop_reason:
            case "end_turn":
                return self._outcome(TurnState.SUCCEEDED, None, exit_code=0, **used)
            case "refusal":
                return self._outcome(TurnState.FAILED, "the agent refused", **used)
            case reason:
                return self._outcome(TurnState.INCOMPLETE, f"it stopped: {reason}", **used)


def _words_of(error: RequestError) -> str:
    """Its message, which may say no more than `Internal error`, and what stands beside it."""
    details = error.data.get("details") if isinstance(error.data, dict) else None
    parts = [str(error), details if isinstance(details, str) else ""]
    words = ": ".join(part for part in map(clean_text, parts) if part)
    return one_line(words) or "it answered with an error"


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    place = ".".join(map(str, fault["loc"]))
    return one_line(clean_text(f"{place} {fault['input']!r}"), _MOST_OF_FAULT)
