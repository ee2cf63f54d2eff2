"""Follows the issues of one tracker: a list per repository, and singly what it does not reach."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from batchdeck.core.clock import Clock
from batchdeck.core.model.issue import IssueFact, IssueRef, IssueState, TrackerStanding
from batchdeck.core.trackers.answers import Answer, NoAnswer, refusal
from batchdeck.core.trackers.asking import REQUEST_SECONDS, Asker
from batchdeck.core.trackers.dialects import Dialect, Item, read_item
from batchdeck.core.trackers.sparing import Sparing
from batchdeck.core.trackers.tracker import Seen

MOST_PAGES = 10
MOST_SINGLES = 30
"""Issues that are asked for singly in one look."""
FEW = 5
"""So many missing ones are asked for singly rather than by reading on in a list."""
AGAIN_SECONDS = 3_600.0
"""An issue that no list has shown for so long is asked for singly: it may have been moved away."""
ON_DEMAND_SECONDS = 60.0
FRESH_SECONDS = 60.0
WITHOUT_TOKEN_SECONDS = 300.0
"""How often a tracker is asked without a token: GitHub allows 60 requests an hour."""
_MOST_DOUBTS = 20


@dataclass(slots=True)
class _Known:
    fact: IssueFact
    node: str
    at: float
    """When it was last known to be so still (monotonic): a list without it says so, too."""
    proved: float
    """When an answer last showed this very issue."""
    moved: bool = False
    """It is in another repository by now, so that no list says anything about it."""


@dataclass(slots=True)
class _Repository:
    etag: str | None = None
    cursor: str | None = None
    cursor_at: float = 0.0
    sparing: Sparing = field(default_factory=Sparing)
    again_at: float = 0.0
    """When it may be asked again at the earliest, as it said itself."""


class Forge:
    """One tracker. Only a good answer about just the right issue becomes a fact."""

    def __init__(
        self,
        dialect: Dialect,
        clock: Clock,
        token: str | None = None,
        token_env: str | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> None:
        self.dialect = dialect
        self._clock = clock
        self._token_env = token_env
        self._has_token = bool(token)
        self._asker = Asker(dialect.base, dialect.headers(token), seconds)
        self._sparing = Sparing()
        self._repositories: dict[str, _Repository] = {}
        self._known: dict[IssueRef, _Known] = {}
        self._asked_ms: int | None = None
        self._asked_at: float | None = None
        self._doubts: dict[IssueRef, str] = {}

    async def close(self) -> None:
        await self._asker.close()

    def fresh(self, ref: IssueRef) -> bool:
        """See `IssueTracker.fresh`; also where asking again would bring nothing now."""
        now = self._clock.monotonic()
        repository = self._repositories.get(ref.repo)
        if not self._may_ask or self._sparing.left(now):
            return True
        if repository is not None and repository.sparing.left(now):
            return True
        known = self._known.get(ref)
        longest = FRESH_SECONDS if self._has_token else WITHOUT_TOKEN_SECONDS
        return known is not None and now - known.at < longest

    @property
    def _may_ask(self) -> bool:
        """A token that is named and not there is a mistake: asking without it would hide that."""
        return self._has_token or self._token_env is None

    async def look(self, wanted: Collection[IssueRef], *, at_once: bool = False) -> Seen:
        """See `IssueTracker.look`."""
        wanted = set(wanted)
        errors: list[str] = []
        if not self._may_ask:
            words = f"the variable {self._token_env} is not set, or holds no token"
            errors.append(f"{words}, so no issue is followed")
        elif self._is_time(wanted, at_once):
            await self._ask(wanted, at_once, errors)
        if not errors and self._sparing.left(self._clock.monotonic()):
            errors.append(self._sparing.words)
        told = tuple(f"{self.dialect.name} {words}" for words in errors)
        facts = {ref: self._known[ref].fact for ref in wanted if ref in self._known}
        return Seen(facts, told, (self._standing(wanted, errors),))

    def _is_time(self, wanted: set[IssueRef], at_once: bool) -> bool:
        now = self._clock.monotonic()
        if self._sparing.left(now):
            return False
        if self._has_token or at_once or self._asked_at is None or wanted - self._known.keys():
            return True
        return now - self._asked_at >= WITHOUT_TOKEN_SECONDS

    async def _ask(self, wanted: set[IssueRef], at_once: bool, errors: list[str]) -> None:
        self._asked_at = self._clock.monotonic()
        try:
            for repo in sorted({ref.repo for ref in wanted}):
                await self._poll(repo, {ref for ref in wanted if ref.repo == repo}, errors)
            await self._ask_singly(wanted, at_once, errors)
        except NoAnswer as error:
            self._sparing.failed(error.words, self._clock.monotonic(), error.wait)
            errors.append(error.words)
            return
        self._sparing.worked()

    # -- the list of a repository

    async def _poll(self, repo: str, wanted: set[IssueRef], errors: list[str]) -> None:
        """Raises NoAnswer where the tracker as a whole does not answer."""
        repository = self._repositories.setdefault(repo, _Repository())
        now = self._clock.monotonic()
        if repository.sparing.left(now):
            errors.append(repository.sparing.words)
            return
        if now < repository.again_at:
            return
        try:
            await self._walk(repo, repository, wanted)
        except NoAnswer as error:
            if error.everywhere:
                raise
            words = f"{error.words} ({repo})"
            repository.sparing.failed(words, now, error.wait)
            errors.append(words)
            return
        repository.sparing.worked()
        self._asked_ms = self._clock.now_ms()

    async def _walk(self, repo: str, repository: _Repository, wanted: set[IssueRef]) -> None:
        """Reads the list as far as it is news. What is remembered of it moves on at its end only,
        so that a page that fails hides nothing; what the pages before it say is true all the same.
        """
        params = self.dialect.list_params(repository.cursor)
        answer = await self._good(f"repos/{repo}/issues", params, repository.etag)
        now = self._clock.monotonic()
        repository.again_at = now + answer.poll_seconds
        if answer.status == 304:
            self._confirm(repo, now)
            return
        etag, newest = answer.headers.get("etag"), (repository.cursor_at, repository.cursor)
        shown: set[IssueRef] = set()
        missing, reached = {ref for ref in wanted if ref not in self._known}, False
        for page in range(1, MOST_PAGES + 1):
            for item in _items(answer):
                reached = self.dialect.newest_first and item.changed_at < repository.cursor_at
                if reached:
                    break
                newest = max(newest, (item.changed_at, item.changed))
                if IssueRef("", repo, item.number) in shown:
                    continue  # it changed while the pages were read: what came first is newer
                ref = self._take(item, repo, wanted, answer.moved)
                missing.discard(ref)
                shown.add(ref)
            first_walk = repository.cursor is None
            if reached or answer.following is None or page == MOST_PAGES:
                break
            if first_walk and len(missing) <= FEW:
                break
            answer = await self._good(answer.following, None, None)
        whole = reached or answer.following is None
        if repository.cursor is not None and not whole:
            self._doubt_all(repo, shown)  # more has changed than was read
        elif repository.cursor is not None:
            self._confirm(repo, now)
        repository.etag, (repository.cursor_at, repository.cursor) = etag, newest

    async def _good(self, where: str, params: dict[str, str] | None, etag: str | None) -> Answer:
        answer = await self._asker.get(where, params, etag)
        if answer.status == 200 or (answer.status == 304 and etag is not None):
            return answer
        if answer.status == 404:
            raise NoAnswer("shows no such repository, or not to this token (404)", wait=300.0)
        if answer.status == 410:
            raise NoAnswer("has no issues in this repository (410)", wait=300.0)
        raise refusal(answer, self._token_env)

    def _take(self, item: Item, repo: str, wanted: set[IssueRef], moved: bool) -> IssueRef:
        ref = IssueRef("", repo, item.number)
        if ref in wanted or ref in self._known:
            if item.repo not in (None, repo) and not moved:
                self._doubts[ref] = f"{ref.words}: the list of {repo} shows one of {item.repo}"
            else:
                self._keep(ref, item)
        return ref

    def _keep(self, ref: IssueRef, item: Item, words: str = "") -> None:
        before = self._known.get(ref)
        if before is not None and before.node not in ("", item.node) and not words:
            self._doubts[ref] = f"{ref.words} is another issue than it was"
            return
        fact = replace(item.fact, words=words) if words else item.fact
        now = self._clock.monotonic()
        self._known[ref] = _Known(fact, item.node, now, now, moved=bool(words))
        self._doubts.pop(ref, None)
        if fact.words:
            self._doubts[ref] = f"{ref.words} {fact.words}"

    def _confirm(self, repo: str, now: float) -> None:
        """The list says that nothing else has changed."""
        for ref, known in self._known.items():
            if ref.repo == repo and not known.moved:
                known.at = now

    def _doubt_all(self, repo: str, but: set[IssueRef]) -> None:
        for ref, known in self._known.items():
            if ref.repo == repo and ref not in but:
                known.at = known.proved = float("-inf")

    # -- single issues

    async def _ask_singly(self, wanted: set[IssueRef], at_once: bool, errors: list[str]) -> None:
        for ref in self._singles(wanted, at_once):
            sparing, now = self._repositories[ref.repo].sparing, self._clock.monotonic()
            if sparing.left(now):
                continue
            try:
                await self._ask_for(ref)
            except NoAnswer as error:
                if error.everywhere:
                    raise
                words = f"{error.words} ({ref.words})"
                if error.wait is not None:
                    sparing.failed(words, now, error.wait)
                errors.append(words)
                self._doubts[ref] = f"{ref.words}: {error.words}"

    def _singles(self, wanted: set[IssueRef], at_once: bool) -> list[IssueRef]:
        """Those that no list has shown first, then those confirmed longest ago."""
        now = self._clock.monotonic()

        def age(ref: IssueRef) -> float:
            known = self._known.get(ref)
            return float("inf") if known is None else now - known.proved

        def longest(ref: IssueRef) -> float:
            known = self._known.get(ref)
            if known is not None and known.moved:
                return FRESH_SECONDS
            return ON_DEMAND_SECONDS if at_once else AGAIN_SECONDS

        due = [
            ref
            for ref in wanted
            if age(ref) >= longest(ref) and not self._repositories[ref.repo].sparing.left(now)
        ]
        return sorted(due, key=lambda ref: (-age(ref), ref))[:MOST_SINGLES]

    async def _ask_for(self, ref: IssueRef) -> None:
        answer = await self._asker.get(f"repos/{ref.repo}/issues/{ref.number}")
        now = self._clock.monotonic()
        if answer.status == 410 and "deleted" in answer.message.lower():
            gone = IssueFact(IssueState.DELETED, event="deleted")
            self._known[ref] = _Known(gone, "", now, now)
            self._doubts.pop(ref, None)
            return
        if answer.status in (404, 410):
            self._missing(ref, answer, now)
            return
        if answer.status != 200:
            raise refusal(answer, self._token_env)
        item = read_item(answer.content)
        if (item.number, item.repo or ref.repo) == (ref.number, ref.repo):
            self._keep(ref, item)
        elif answer.moved:
            self._keep(ref, item, f"was moved to {item.repo or ref.repo}#{item.number}")
        else:
            raise NoAnswer("answers about another issue")

    def _missing(self, ref: IssueRef, answer: Answer, now: float) -> None:
        """Not shown is not closed: nothing follows, and the operator decides."""
        before = self._known.get(ref)
        self._doubts[ref] = f"{ref.words} is unknown there ({answer.status})"
        if before is None:
            self._known[ref] = _Known(IssueFact(IssueState.UNKNOWN), "", now, now)
        else:
            before.at = before.proved = now

    # -- for people

    def _standing(self, wanted: set[IssueRef], errors: list[str]) -> TrackerStanding:
        left = self._sparing.left(self._clock.monotonic())
        words = errors[0] if errors else ""
        if not words and not self._has_token:
            words = "is asked without a token, every 5 minutes"
        doubts = [self._doubts[ref] for ref in sorted(wanted) if ref in self._doubts]
        return TrackerStanding(
            name=self.dialect.name,
            good=not errors,
            words=words,
            asked_ms=self._asked_ms,
            again_ms=self._clock.now_ms() + int(left * 1000) if left else None,
            issues=len(wanted),
            doubtful=tuple(doubts[:_MOST_DOUBTS]),
        )


def _items(answer: Answer) -> list[Item]:
    if not isinstance(answer.content, list):
        raise NoAnswer("answers with something that is no list of issues")
    return [read_item(content) for content in answer.content]
