"""Agents that speak the Agent Client Protocol (agentclientprotocol.com, version 1) on their pipes.

One process per attempt: `initialize`, a session that is new or loaded, one `prompt`. The protocol's
own library keeps requests and answers apart; the process and its pipes are ours.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
from acp import PROTOCOL_VERSION, text_block
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.schema import (
    Implementation,
    PermissionOption,
    PromptResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from batchdeck.core.agents.acp_permission import answer_to, permission_of
from batchdeck.core.agents.acp_pipes import Pipes
from batchdeck.core.agents.acp_process import leave, start_process
from batchdeck.core.agents.acp_report import Report
from batchdeck.core.agents.adapter import Assignment, Control, Outcome, StopSign
from batchdeck.core.agents.command import launch_for
from batchdeck.core.agents.command_line import CannotStart
from batchdeck.core.agents.dialects.dialect import bounded, session_id
from batchdeck.core.agents.dialects.limits import usage_limit
from batchdeck.core.agents.output import EventOutput
from batchdeck.core.agents.pricing import priced
from batchdeck.core.executors.executor import Executor
from batchdeck.core.model.permission import Decision, Permission
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.text import clean_text, one_line

HANDSHAKE_SECONDS = 60.0
"""For `initialize` and the session; some programs load for long."""
CANCEL_SECONDS = 5.0
"""How long an agent that was told to cancel may take to say so."""
_AUTH_REQUIRED = -32000


class AcpAgent:
    """One process per attempt, that ends with its supervisor."""

    outlives = False

    def __init__(self, executor: Executor, handshake_seconds: float = HANDSHAKE_SECONDS) -> None:
        """`executor`: ends what an attempt's processes leave behind."""
        self._executor = executor
        self._handshake_seconds = handshake_seconds

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        """See `Adapter.run`."""
        if control.stop.is_set():
            return _stopped("stopped before its start")
        try:
            launch = await anyio.to_thread.run_sync(launch_for, assignment)
            process = await start_process(launch)
        except CannotStart as reason:
            return Outcome(TurnState.FAILED, error=reason.words, surroundings=reason.surroundings)
        except OSError as error:
            words = f"{assignment.agent.command[0]} could not be started: {error.strerror or error}"
            return Outcome(TurnState.FAILED, error=words, surroundings="agent")
        control.started(process.pid)
        talk = None
        try:
            output = await anyio.to_thread.run_sync(EventOutput, assignment.run)
            talk = _Talk(assignment, control, launch.folder, process, Report(output))
            outcome = await talk.to_the_end(self._handshake_seconds)
            return priced(outcome, assignment.agent)
        finally:
            sweep = partial(self._executor.sweep, assignment.attempt)
            await leave(process, sweep, *(() if talk is None else (talk.close,)))

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        """Its process lost its pipes with its supervisor; what is left of it is ended."""
        left = await self.end_leftovers(assignment.attempt)
        words = "lost: it ended with its supervisor"
        return Outcome(TurnState.LOST, AttemptEnd.LOST, error=words, leftovers=left)

    async def end_leftovers(self, attempt: str) -> int:
        """See `Adapter.end_leftovers`: found by their mark, whatever their parent is now."""
        return await self._executor.sweep(attempt)

    def never_started(self, run: Path) -> bool:
        """See `Adapter.never_started`."""
        return False

    def at_work(self, run: Path) -> bool:
        """See `Adapter.at_work`: never longer than somebody watches."""
        return False

    async def close(self) -> None:
        """Nothing is kept open between attempts."""


class _Client:
    """What the agent may ask of us; updates never wait, so that they keep their order."""

    def __init__(self, report: Report, control: Control, folder: Path) -> None:
        self._report = report
        self._control = control
        self._folder = folder
        self.nobody_there = StopSign()
        """It wanted a permission, and there was nobody to ask."""
        self.unanswered: str | None = None

    def on_connect(self, connection: Any) -> None:
        """Nothing is to be done."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self._report.take(update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **_: Any,
    ) -> RequestPermissionResponse:
        """Asks a person, and waits as long as that takes; other requests are answered meanwhile."""
        call = self._report.call(tool_call)
        permission = await anyio.to_thread.run_sync(permission_of, call, options, self._folder)
        decision = await self._decision(permission)
        self._report.decided(permission, decision)
        if decision is Decision.UNANSWERED:
            self.unanswered = permission.title
            self.nobody_there.set()
        return answer_to(decision, options)

    async def _decision(self, permission: Permission) -> Decision:
        """A person's word; *cancelled* where the turn is stopped before."""
        async with anyio.create_task_group() as waits:

            async def until_stopped() -> None:
                await self._control.stop.wait()
                waits.cancel_scope.cancel()

            waits.start_soon(until_stopped)
            decision = await self._control.ask(permission)
            waits.cancel_scope.cancel()
            return decision
        return Decision.CANCELLED


class _Talk:
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
        self._client = _Client(report, control, folder)
        self._pipes = Pipes(process, report)
        client: Any = self._client
        self._connection = ClientSideConnection(client, self._pipes)
        self._session: str | None = None

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
        if self._control.stop.is_set():
            return self._outcome(TurnState.CANCELLED, "stopped", end=AttemptEnd.STOPPED)
        if outcome is None or self._client.unanswered is not None:
            words = f"asked, and nobody is there to answer: {self._client.unanswered}"
            return self._outcome(TurnState.FAILED, words)
        return outcome

    async def _answered(self, handshake_seconds: float) -> Outcome:
        try:
            with anyio.move_on_after(handshake_seconds) as handshake:
                await self._shake_hands()
            if handshake.cancelled_caught:
                return self._no_handshake(f"did not answer within {handshake_seconds:g} s")
            assert self._session is not None
            answer = await self._connection.prompt(
                session_id=self._session, prompt=[text_block(self._assignment.prompt)]
            )
        except RequestError as error:
            return self._refused(error)
        except ConnectionError:
            if self._session is None:
                return self._no_handshake("ended before it answered")
            return self._outcome(TurnState.INCOMPLETE, self._with_noise("it ended in its work"))
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
            self._report.replaying = True
            await connection.load_session(cwd=cwd, session_id=earlier, mcp_servers=[])
            self._report.replaying = False
            self._session = earlier
            return
        self._session = (await connection.new_session(cwd=cwd, mcp_servers=[])).session_id

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
            cost=report.cost,
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
        words = one_line(clean_text(str(error))) or "it answered with an error"
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


def _stopped(words: str) -> Outcome:
    return Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, error=words)
