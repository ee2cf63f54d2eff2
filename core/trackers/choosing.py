"""Which tracker an issue is on: the deck's own, or GitHub by a full address."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from batchdeck.core.clock import Clock
from batchdeck.core.model.issue import IssueFact, IssueRef, TrackerStanding
from batchdeck.core.trackers.dialects import Dialect, dialect_for
from batchdeck.core.trackers.tokens import token_in
from batchdeck.core.trackers.tracker import IssueTracker, Seen

PUBLIC = dialect_for("github", None)
_MOST_NAMED = 3

Open = Callable[[Dialect, "str | None", "str | None"], IssueTracker]
"""Opens a tracker with its token, and the name of the variable that holds it."""


class Trackers:
    """Asks each tracker about its own issues; none is opened before it is needed."""

    def __init__(
        self, config: Mapping[str, Any] | None, environment: Mapping[str, str], open_one: Open
    ) -> None:
        chosen = config or {}
        self._own = dialect_for(chosen.get("kind", "github"), chosen.get("base_url"))
        self._token_env: str | None = chosen.get("token_env")
        self._environment = environment
        self._open_one = open_one
        self._opened: dict[str, IssueTracker] = {}

    async def look(self, wanted: Collection[IssueRef], *, at_once: bool = False) -> Seen:
        """See `IssueTracker.look`."""
        facts: dict[IssueRef, IssueFact] = {}
        errors: list[str] = []
        standing: list[TrackerStanding] = []
        by_host: dict[str, dict[IssueRef, IssueRef]] = {}
        for ref in wanted:
            host = ref.host or self._own.host
            by_host.setdefault(host, {})[ref] = IssueRef("", ref.repo, ref.number)
        for host, refs in sorted(by_host.items()):
            tracker = self._tracker(host)
            if tracker is None:
                errors.append(_not_followed(host, sorted(refs)))
                continue
            seen = await tracker.look(set(refs.values()), at_once=at_once)
            facts |= {ref: seen.facts[own] for ref, own in refs.items() if own in seen.facts}
            errors += seen.errors
            standing += seen.standing
        return Seen(facts, tuple(errors), tuple(standing))

    def fresh(self, ref: IssueRef) -> bool:
        """See `IssueTracker.fresh`."""
        tracker = self._tracker(ref.host or self._own.host)
        return tracker is None or tracker.fresh(IssueRef("", ref.repo, ref.number))

    def _tracker(self, host: str) -> IssueTracker | None:
        """The one for a host; the token is for the deck's own alone."""
        if host in self._opened:
            return self._opened[host]
        if host == self._own.host:
            token = token_in(self._environment, self._token_env)
            self._opened[host] = self._open_one(self._own, token, self._token_env)
        elif host == PUBLIC.host:
            self._opened[host] = self._open_one(PUBLIC, None, None)
        return self._opened.get(host)

    async def close(self) -> None:
        """See `IssueTracker.close`."""
        for tracker in self._opened.values():
            await tracker.close()


def trackers(
    config: Mapping[str, Any] | None, environment: Mapping[str, str], clock: Clock
) -> Trackers:
    """The trackers that a deck's configuration names; without one, GitHub without a token."""

    def open_one(dialect: Dialect, token: str | None, token_env: str | None) -> IssueTracker:
        from batchdeck.core.trackers.forge import Forge  # httpx takes a while to load

        return Forge(dialect, clock, token, token_env)

    return Trackers(config, environment, open_one)


def _not_followed(host: str, refs: list[IssueRef]) -> str:
    named = ", ".join(ref.words for ref in refs[:_MOST_NAMED])
    more = f" and {len(refs) - _MOST_NAMED} more" if len(refs) > _MOST_NAMED else ""
    return f"{host} is not this deck's tracker: {named}{more} cannot be followed"
