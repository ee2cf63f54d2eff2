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
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
)
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
            agent_capabilities=AgentCapabilities(load_session=True),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=uuid.uuid4().hex)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        self.loaded = session_id
        await self.connection.session_update(session_id, update_agent_message_text("long ago"))
        return LoadSessionResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> PromptResponse:
        for line in prompt[0].text.splitlines():
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
            case "loaded":
                await update(session, update_agent_message_text(self.loaded))
            case "tool":
                return await self.tool(session, words)
            case "stderr":
                sys.stderr.write("e" * int(words))
                sys.stderr.flush()
            case "rubbish":
                sys.stdout.buffer.write(words.encode() + b'\n"words"\n[1]\n{"half": \n')
                sys.stdout.flush()
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

    async def tool(self, session: str, title: str) -> Any:
        await self.connection.session_update(session, start_tool_call("t1", title))
        answer = await self.connection.request_permission(
            session_id=session,
            tool_call=ToolCallUpdate(tool_call_id="t1", title=title),
            options=[
                PermissionOption(option_id="a", name="Always", kind="allow_always"),
                PermissionOption(option_id="y", name="Allow", kind="allow_once"),
                PermissionOption(option_id="n", name="Reject", kind="reject_once"),
            ],
        )
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        await self.connection.session_update(session, update_tool_call("t1", status="failed"))
        await self.connection.session_update(session, update_agent_message_text(f"got {chosen}"))


if __name__ == "__main__":
    if "noise" in sys.argv:
        print("Welcome to the agent!\nnull", flush=True)
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            signal.pause()
    asyncio.run(run_agent(ScriptedAgent()))
