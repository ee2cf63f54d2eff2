"""How an agent that runs asks a person, and waits for the word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from batchdeck.core.model.permission import Decision, Permission


class Reply:
    """The word that an agent waits for. It is given once; what comes later changes nothing."""

    __slots__ = ("_decision", "_given")

    def __init__(self) -> None:
        self._given = anyio.Event()
        self._decision: Decision | None = None

    def give(self, decision: Decision) -> None:
        if self._decision is None:
            self._decision = decision
            self._given.set()

    async def wait(self) -> Decision:
        await self._given.wait()
        assert self._decision is not None
        return self._decision


Asking = Callable[[Permission], Awaitable[Decision]]
"""Asks for a permission, and returns what was decided once that is on disk."""


async def ask_nobody(_permission: Permission) -> Decision:
    """Where there is nobody to ask nothing is allowed."""
    return Decision.DENY
