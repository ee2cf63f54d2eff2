"""What an ACP agent may ask of whoever started it: a permission."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from acp.schema import PermissionOption, RequestPermissionResponse, ToolCallUpdate

from batchdeck.core.agents.acp_permission import answer_to, permission_of
from batchdeck.core.agents.acp_report import Report
from batchdeck.core.agents.adapter import Control, StopSign
from batchdeck.core.model.permission import Decision, Permission


class Client:
    """What the agent may ask of us; what it tells without asking goes to the report at once."""

    def __init__(self, report: Report, control: Control, folder: Path) -> None:
        self._report = report
        self._control = control
        self._folder = folder
        self.nobody_there = StopSign()
        """It wanted a permission, and there was nobody to ask."""
        self.unanswered: str | None = None
        self.has_cancelled = False
        """A permission was answered with *cancelled*: what it did after that is no success."""

    def on_connect(self, connection: Any) -> None:
        """Nothing is to be done."""

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
        self.has_cancelled |= decision in (Decision.CANCELLED, Decision.UNANSWERED)
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
