"""What the deck asks of a tracker: what is known of some issues, within bounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from batchdeck.core.model.issue import IssueFact, IssueRef, TrackerStanding


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look came to. Nothing in it is a guess: what was not seen is not there."""

    facts: Mapping[IssueRef, IssueFact] = field(default_factory=dict)
    """What is known of the issues that were asked for, this time or before."""
    errors: tuple[str, ...] = ()
    """What went wrong, each once, in words for a person."""
    standing: tuple[TrackerStanding, ...] = ()


class IssueTracker(Protocol):
    """Where issues are looked up. One look at a time."""

    async def look(self, wanted: Collection[IssueRef], *, at_once: bool = False) -> Seen:
        """Asks about issues; raises for nothing that a tracker answers.

        `at_once`: a person asked, so what was confirmed a while ago is confirmed again.
        """
        ...

    def fresh(self, ref: IssueRef) -> bool:
        """Whether what is known of an issue is recent enough to start work upon."""
        ...

    async def close(self) -> None:
        """Lets go of connections."""
        ...
