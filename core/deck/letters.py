"""What may come to the writer: commands, news of attempts, signs of life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.asking import Reply
from batchdeck.core.commands import Command, Receipt
from batchdeck.core.deck.audit import Violation
from batchdeck.core.deck.barrier import Verdict
from batchdeck.core.model.issue import TrackerStanding
from batchdeck.core.model.permission import Permission
from batchdeck.core.rules.reconciling import Finding
from batchdeck.core.view import Pulse

if TYPE_CHECKING:
    from batchdeck.core.deck.handling.parts import Coming


@dataclass(slots=True)
class CommandLetter:
    """A command, with what was looked up for it outside the writer."""

    command: Command
    found: Mapping[str, Any] = field(default_factory=dict)
    receipt: Receipt | None = None
    answered: anyio.Event = field(default_factory=anyio.Event)

    def answer(self, receipt: Receipt) -> None:
        if self.receipt is None:
            self.receipt = receipt
            self.answered.set()


@dataclass(frozen=True, slots=True)
class Part:
    """Another part of a large batch is to be added; other letters have their turn in between."""

    letter: CommandLetter
    coming: Coming


@dataclass(frozen=True, slots=True)
class Started:
    """The agent of an attempt really works."""

    turn: int
    attempt: str
    process: int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt has ended."""

    turn: int
    attempt: str
    outcome: Outcome
    interruptions: int = 0
    """How often its task was interrupted by a crash before, where it was lost now."""


@dataclass(frozen=True, slots=True)
class Wants:
    """The agent of an attempt wants a permission, and waits for the reply."""

    turn: int
    attempt: str
    permission: Permission
    reply: Reply


@dataclass(frozen=True, slots=True)
class Pulses:
    """Signs of life of running turns; shown, never stored."""

    pulses: Mapping[int, Pulse]


@dataclass(frozen=True, slots=True)
class Audited:
    """What the auditor found."""

    found: tuple[Violation, ...]
    adopt: frozenset[int]
    """Turns that are taken over again."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at the world outside came to; each finding holds only for what it saw."""

    findings: tuple[Finding, ...] = ()
    errors: tuple[str, ...] = ()
    """Checks that failed, in words, where that is news."""
    trackers: tuple[TrackerStanding, ...] | None = None
    """How the trackers answer; None: they were not asked."""
    begins: str = ""
    """Why reconciliation begins now, where that is to be told."""
    applied: list[int] = field(default_factory=list)
    """Tasks that were changed."""
    failed: dict[int, str] = field(default_factory=dict)
    """Tasks of which a finding could not be followed, and why."""
    done: anyio.Event = field(default_factory=anyio.Event)
    """What follows is on disk, or cannot be."""

    def singly(self) -> list[Found]:
        """The same, a letter for each finding; with the last of them it is done."""
        rest = replace(self, findings=(), done=anyio.Event())
        parts = [
            rest,
            *(Found((one,), applied=self.applied, failed=self.failed) for one in self.findings),
        ]
        return [*parts[:-1], replace(parts[-1], done=self.done)]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the barrier of a foreach came to, as it stood."""

    batch: str
    changes: int
    """How often its items had changed by then; another number makes the verdict void."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Forget:
    """Events are older than the configuration wants them kept: some of them go."""

    before_ms: int
    done: anyio.Event = field(default_factory=anyio.Event)
    """They have gone, or cannot."""


@dataclass(frozen=True, slots=True)
class Nobody:
    """No person is there: what waits for an answer from the time before has failed."""


Letter = (
    CommandLetter
    | Part
    | Forget
    | Found
    | Started
    | Wants
    | Ended
    | Pulses
    | Audited
    | Judged
    | Nobody
)
