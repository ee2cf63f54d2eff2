"""An agent that speaks ACP, in a process of its own; the prompt is its script, one verb a line."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    run_agent,
    start_edit_tool_call,
    start_tool_call,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
)
from acp.exceptions import RequestError
from acp.schema import (
    AgentCapabilities,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
    Usage,
)


class ScriptedAgent:
    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.loaded = ""

    def on_connect(self, connection: Any) -> None:
        self.connection = connection

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(load_session="forgetful" not in sys.argv),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=uuid.uuid4().hex)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        if "lost" in sys.argv:
            raise RequestError.resource_not_found(session_id)
        self.loaded = session_id
        await self.connection.session_update(session_id, update_agent_message_text("long ago"))
        return LoadSessionResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> PromptResponse:
        self.told = prompt[0].text
        for line in self.told.splitlines():
            verb, _blank, words = line.partition(" ")
            reason = await self.play(session_id, verb, words)
            if reason is not None:
                return PromptResponse(stop_reason=reason)
        usage = Usage(total_tokens=15, input_tokens=10, output_tokens=5)
        return PromptResponse(stop_reason="end_turn", usage=usage)

    async def play(self, session: str, verb: str, words: str) -> Any:
        update = self.connection.session_update
        match verb:
            case "say":
                await update(session, update_agent_message_text(words))
            case "think":
                await update(session, update_agent_thought_text(words))
            case "count":
                for number in range(int(words)):
                    await update(session, update_agent_message_text(f"{number} "))
            case "big":
                await update(session, update_agent_thought_text("x" * int(words)))
            case "unheard":
                try:
                    await self.connection.ext_method("unheard/of", {})
                except RequestError as error:
                    await update(session, update_agent_message_text(str(error.code)))
            case "loaded":
                await update(session, update_agent_message_text(self.loaded))
            case "tool":
                return await self.tool(session, words)
            case "run":
                return await self.tool(session, words, kind="execute", raw_input={"command": words})
            case "edit":
                return await self.edit(session, words)
            case "both":
                await asyncio.gather(
                    *(self.tool(session, one, call=one) for one in words.split("|"))
                )
            case "permit":
                await self.permitted(session, "t0", words, [("z", words)])
            case "finish_with_open_permission":
                self.open = asyncio.ensure_future(self.tool(session, "late"))
                await asyncio.sleep(0.2)
                return "end_turn"
            case "stderr":
                sys.stderr.write("e" * int(words))
                sys.stderr.flush()
            case "rubbish":
                sys.stdout.buffer.write(words.encode() + b'\n"words"\n[1]\n{"half": \n')
                sys.stdout.flush()
            case "raw":
                sys.stdout.buffer.write(words.encode() + b"\n")
                sys.stdout.flush()
            case "repeat":
                await update(session, update_agent_message_text(self.told))
            case "ask":
                leave_question(words)
            case "finish_when_cancelled":
                await self.cancelled.wait()
                return "end_turn"
            case "wait":
                await self.cancelled.wait()
                return "cancelled"
            case "deaf":
                await asyncio.sleep(3600)
            case "crash":
                os._exit(3)
            case "stop":
                return words
        return None

    async def tool(self, session: str, title: str, call: str = "t1", **told: Any) -> Any:
        """What the call is about is told with its beginning, not with the permission's request."""
        await self.connection.session_update(session, start_tool_call(call, title, **told))
        await self.permitted(session, call, title, _OPTIONS)

    async def edit(self, session: str, path: str) -> Any:
        diff = tool_diff_content(path, "new line\nkept", "old line\nkept")
        await self.connection.session_update(
            session,
            start_edit_tool_call("t1", f"Edit {path}", path, None, extra_options=[diff]),
        )
        await self.permitted(session, "t1", None, _OPTIONS)

    async def permitted(self, session: str, call: str, title: Any, options: Any) -> None:
        answer = await self.connection.request_permission(
            session_id=session,
            tool_call=ToolCallUpdate(tool_call_id=call, title=title),
            options=[PermissionOption(option_id=one, name=one, kind=kind) for one, kind in options],
        )
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        status = "completed" if chosen in ("y", "a") else "failed"
        await self.connection.session_update(session, update_tool_call(call, status=status))
        await self.connection.session_update(session, update_agent_message_text(f"got {chosen} "))
        if chosen == "cancelled" and options is _OPTIONS:
            await self.cancelled.wait()


def leave_question(words: str) -> None:
    with open(os.environ["BATCHDECK_ASK"], "w") as file:
        file.write(words)


_OPTIONS = [("a", "allow_always"), ("y", "allow_once"), ("n", "reject_once")]


if __name__ == "__main__":
    if "noise" in sys.argv:
        print("Welcome to the agent!\nnull", flush=True)
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            signal.pause()
    asyncio.run(run_agent(ScriptedAgent()))
    while "outlives" in sys.argv:  # the end of its standard input
        signal.pause()
