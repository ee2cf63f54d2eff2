"""The ticker: looks at the world outside, in time or when asked, and posts what it found."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import anyio

from batchdeck.core.clock import Clock
from batchdeck.core.commands import Receipt
from batchdeck.core.deck.letters import Found, Letter
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.issue import IssueFact, IssueRef, TrackerStanding
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import DECIDES_TASK, Turn
from batchdeck.core.points import reached
from batchdeck.core.rules.reconciling import (
    Finding,
    closed_by_deck,
    issue_findings,
    issues_of,
    local_findings,
    looked_at,
)
from batchdeck.core.trackers.tracker import IssueTracker, Seen
from batchdeck.core.view import DeckView

_log = logging.getLogger(__name__)

LOOK_SECONDS = 25.0
"""A look at the trackers takes no longer; what it has not seen by then it sees next time."""
LAUNCH_SECONDS = 10.0
"""How long an attempt waits at most for a look before its agent is started."""
FIRST_SECONDS = 10.0
"""How long the first admission waits at most for the trackers."""
NOTICE_SECONDS = 1.0
"""How soon the interval of a batch that was added meanwhile is noticed."""


BEFORE_THE_FIRST = "before the first start"


@dataclass(slots=True)
class _Request:
    """Somebody waits for a look: at everything, or at one issue."""

    ref: IssueRef | None = None
    why: str = "asked for"
    by_person: bool = True
    done: anyio.Event = field(default_factory=anyio.Event)
    words: str = ""


class Reconciler:
    """One task looks, so that looks never overlap; what follows is the writer's."""

    def __init__(
        self,
        view: Callable[[], DeckView],
        task: Callable[[int | None], Task | None],
        post: Callable[[Letter], None],
        clock: Clock,
        tracker: IssueTracker | None = None,
    ) -> None:
        self._view = view
        self._task = task
        self._post = post
        self._clock = clock
        self._tracker = tracker
        self._facts: Mapping[IssueRef, IssueFact] = {}
        self._standing: tuple[TrackerStanding, ...] = ()
        self._told: frozenset[str] = frozenset()
        self._requests: list[_Request] = []
        self._wake = anyio.Event()
        self._looked_at: float | None = None
        self._begun = False

    # -- what others ask for

    @property
    def follows_issues(self) -> bool:
        """Whether trackers are to be asked before anything is admitted."""
        return self._tracker is not None and bool(issues_of(looked_at(self._view())))

    async def before_admission(self) -> None:
        """One look at everything, trackers included; a slow one is not waited for without end."""
        request = _Request(why=BEFORE_THE_FIRST, by_person=False)
        self._ask(request)
        with anyio.move_on_after(FIRST_SECONDS):
            await request.done.wait()

    async def first_look(self) -> None:
        """What the deck's own rows say, before anything is admitted."""
        self._looked_at = self._clock.monotonic()
        view = self._view()
        tasks = looked_at(view)
        findings, errors = _checked(lambda some: local_findings(view, some), tasks)
        if findings or errors:
            await self._hand_over(findings, errors, None, begins=BEFORE_THE_FIRST)
            self._begun = True

    async def now(self) -> Receipt:
        """Looks at once; the answer comes when what was found is on disk."""
        request = _Request()
        self._ask(request)
        await request.done.wait()
        return Receipt(accepted=True, message=request.words)

    async def before_launch(self, turn: Turn) -> None:
        """One more look at the issue of a task whose agent is about to be started."""
        if self._tracker is None or turn.trigger not in DECIDES_TASK:
            return
        task = self._task(turn.task)
        ref = None if task is None else issues_of([task]).get(task.id)
        if task is None or ref is None:
            return
        if not self._tracker.fresh(ref):
            request = _Request(ref)
            self._ask(request)
            with anyio.move_on_after(LAUNCH_SECONDS):
                await request.done.wait()
        view = self._view()
        findings = tuple(issue_findings(view, [view.tasks[task.id]], self._facts))
        if findings:
            await self._hand_over(findings, (), None)

    def _ask(self, request: _Request) -> None:
        self._requests.append(request)
        self._wake.set()

    # -- the ticker

    async def run(self) -> None:
        """Looks until it is cancelled; a fault of a look is told, and the next one comes."""
        requests: list[_Request] = []
        try:
            while True:
                await self._until_due()
                requests, self._requests = self._requests, []
                self._wake = anyio.Event()
                _answer(requests, await self._look_safely(requests))
        finally:
            _answer([*requests, *self._requests], "The deck is closing.")

    async def _look_safely(self, requests: Iterable[_Request]) -> str:
        try:
            return await self._look(requests)
        except Exception as error:  # noqa: BLE001 - the ticker outlives a fault of its own
            _log.exception("a look at the world outside failed")
            words = f"reconciliation failed ({type(error).__name__}); see the log"
            await self._hand_over((), self._news((words,)), None)
            return words

    async def _until_due(self) -> None:
        while not self._wake.is_set():
            left = self._left()
            if left <= 0:
                return
            with anyio.move_on_after(min(left, NOTICE_SECONDS)):
                await self._wake.wait()

    def _left(self) -> float:
        """Seconds until the next look in time."""
        interval = self._interval()
        if self._looked_at is None:
            return 0.0 if interval < math.inf else interval
        return self._looked_at + interval - self._clock.monotonic()

    def _interval(self) -> float:
        """Seconds between looks: the shortest that an active batch asks for; none: never."""
        asked = (
            batch.reconciliation_interval_seconds
            for batch in self._view().batches.values()
            if batch.state is BatchState.RUNNING and batch.reconciliation_interval_seconds
        )
        return min(asked, default=math.inf)

    async def _look(self, requests: Iterable[_Request]) -> str:
        """One look; words for whoever asked for it."""
        wholly = [request for request in requests if request.ref is None]
        if not wholly and self._left() > 0:
            return await self._look_at_issues({one.ref for one in requests if one.ref})
        self._looked_at = self._clock.monotonic()
        view = self._view()
        tasks = looked_at(view, timed=not wholly)
        findings, errors = _checked(lambda some: local_findings(view, some), tasks)
        told = {finding.task for finding in findings}
        left = [task for task in tasks if task.id not in told]
        left += closed_by_deck(view, timed=not wholly)
        asked = {one.ref for one in requests if one.ref}
        by_person = any(request.by_person for request in wholly)
        seen = await self._ask_tracker({*issues_of(left).values(), *asked}, at_once=by_person)
        more, failed = _checked(lambda some: list(issue_findings(view, some, self._facts)), left)
        findings, errors = [*findings, *more], (*errors, *failed, *seen.errors)
        begins = "" if self._begun else f"every {self._interval():g} s"
        begins = wholly[0].why if wholly else begins
        letter = await self._hand_over(findings, (), seen.standing, begins)
        self._begun = True
        errors = (*errors, *(self._unfollowed(*failed) for failed in letter.failed.items()))
        await self._hand_over((), self._news(errors), None)
        return _words(len(tasks), len(letter.applied), errors)

    def _unfollowed(self, task_id: int, words: str) -> str:
        task = self._task(task_id)
        return f"what was found about {task.name if task else 'a task'} cannot be followed: {words}"

    async def _look_at_issues(self, refs: set[IssueRef]) -> str:
        """A look on behalf of attempts that are about to start."""
        seen = await self._ask_tracker(refs, at_once=False)
        await self._hand_over((), self._news(seen.errors), seen.standing)
        return ""

    async def _ask_tracker(self, refs: set[IssueRef], *, at_once: bool) -> Seen:
        if self._tracker is None or not refs:
            return Seen()
        with anyio.move_on_after(LOOK_SECONDS):
            seen = await self._tracker.look(refs, at_once=at_once)
            self._facts = {**self._facts, **seen.facts}
            return seen
        return Seen(errors=("the trackers did not answer in time",), standing=self._standing)

    def _news(self, errors: Iterable[str]) -> tuple[str, ...]:
        """Errors that were not told at the look before."""
        found = tuple(dict.fromkeys(errors))
        fresh = tuple(error for error in found if error not in self._told)
        self._told = frozenset(found)
        return fresh

    async def _hand_over(
        self,
        findings: Iterable[Finding],
        errors: tuple[str, ...],
        standing: tuple[TrackerStanding, ...] | None,
        begins: str = "",
    ) -> Found:
        """Posts what was found, if that is anything, and waits until it is dealt with."""
        changed = standing if standing != self._standing else None
        letter = Found(tuple(findings), errors, changed, begins)
        if not (letter.findings or errors or begins or changed is not None):
            return letter
        if letter.findings:
            reached("found")
        self._standing = self._standing if standing is None else standing
        self._post(letter)
        await letter.done.wait()
        return letter


def _answer(requests: Iterable[_Request], words: str) -> None:
    for request in requests:
        if not request.done.is_set():
            request.words = words
            request.done.set()


def _checked(
    check: Callable[[Iterable[Task]], list[Finding]], tasks: Iterable[Task]
) -> tuple[list[Finding], tuple[str, ...]]:
    """What a check finds, task by task: one that fails stops neither the others nor the look."""
    findings: list[Finding] = []
    errors = []
    tasks = list(tasks)
    try:
        return check(tasks), ()
    except Exception:  # noqa: BLE001 - looked for below, in the task that it is about
        _log.exception("a check failed")
    for task in tasks:
        try:
            findings += check([task])
        except Exception as error:  # noqa: BLE001 - one failing check is told, and the rest goes on
            errors.append(f"{task.name} could not be checked ({type(error).__name__}: {error})")
    return findings, tuple(errors)


def _words(tasks: int, changed: int, errors: Iterable[str]) -> str:
    words = f"looked at {tasks} task{'' if tasks == 1 else 's'}: {changed or 'none'} changed"
    failed = list(errors)
    return f"{words}; {failed[0]}" if failed else words
