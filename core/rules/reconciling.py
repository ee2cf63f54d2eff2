"""What follows from what was seen of the world outside; only positive evidence changes a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from batchdeck.core.errors import BadInput
from batchdeck.core.model.batch import Batch, BatchState
from batchdeck.core.model.blocker import Blocker, BlockerState
from batchdeck.core.model.issue import IssueFact, IssueRef, IssueState, read_issue
from batchdeck.core.model.task import COMPLETED, Status, Task, may_move
from batchdeck.core.model.turn import DECIDES_TASK, ENDED, TurnState
from batchdeck.core.view import DeckView

_MEANINGS = {
    None: Status.DONE,
    "completed": Status.DONE,
    "not_planned": Status.FAILED,
    "duplicate": Status.FAILED,
}
"""What the reason of a closed issue means for its task: done, or nobody is to do it."""


class FindingKind(StrEnum):
    DONE = "done elsewhere"
    """The task was completed by someone else, and a turn of it has not ended."""
    UNBLOCKED = "unblocked"
    """Everything that blocked the task is answered or resolved."""
    ISSUE = "issue"
    """Its issue was closed, merged, deleted or opened again."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be done about one task, if it still is as it was seen."""

    kind: FindingKind
    task: int
    status: Status
    """The status it had."""
    turn: int | None
    """Its latest turn."""
    move: Status | None = None
    """The status it gets."""
    event: str = ""
    """What happened to its issue, so that it is acted upon once."""
    why: str = ""
    """Words for a person."""


def looked_at(view: DeckView, timed: bool = False) -> list[Task]:
    """The tasks that are queued, running, waiting or BLOCKED. `timed`: a batch may decline.

    A completed one is only looked at while a turn of it has not ended.
    """
    open_turns = _open_turns(view)
    found = []
    for task in view.tasks.values():
        batch = view.batches.get(task.batch)
        if batch is None or not _active(batch, timed):
            continue
        if task.turn in open_turns or task.status is Status.BLOCKED:
            found.append(task)
    return found


def _active(batch: Batch, timed: bool) -> bool:
    if timed and not batch.reconciliation_interval_seconds:
        return False
    return batch.state is BatchState.RUNNING


def _open_turns(view: DeckView) -> frozenset[int]:
    return frozenset(
        turn.id
        for turn in view.turns.values()
        if turn.state not in ENDED and turn.trigger in DECIDES_TASK
    )


def local_findings(view: DeckView, tasks: Iterable[Task]) -> list[Finding]:
    """What the deck itself says: a task completed by someone else, blockers all out of the way."""
    blockers: dict[int, list[Blocker]] = {}
    for blocker in view.blockers.values():
        blockers.setdefault(blocker.task, []).append(blocker)
    found = []
    for task in tasks:
        if task.status in COMPLETED:
            latest = view.turns.get(task.turn or 0)
            if latest is not None and latest.state is TurnState.STOPPING:
                continue
            why = f"{task.key} is {task.status}"
            found.append(Finding(FindingKind.DONE, task.id, task.status, task.turn, why=why))
        elif task.status is Status.BLOCKED and _all_closed(blockers.get(task.id, ())):
            why = "everything that blocked it is answered"
            finding = Finding(
                FindingKind.UNBLOCKED, task.id, task.status, task.turn, Status.READY, why=why
            )
            found.append(finding)
    return found


def _all_closed(blockers: Iterable[Blocker]) -> bool:
    """Never of a task without a blocker: nobody has said what it waits for."""
    states = [blocker.state for blocker in blockers]
    return bool(states) and BlockerState.OPEN not in states


def issues_of(tasks: Iterable[Task]) -> dict[int, IssueRef]:
    """The issues that tasks name, by task; what names none is left out."""
    found = {}
    for task in tasks:
        if task.issue is None:
            continue
        try:
            found[task.id] = read_issue(task.issue)
        except BadInput:
            continue
    return found


def closed_by_deck(view: DeckView, timed: bool = False) -> list[Task]:
    """Tasks that an event of their issue has settled, and nobody has moved since."""
    found = []
    for task_id, move in view.issue_moves.items():
        task = view.tasks.get(task_id)
        batch = None if task is None else view.batches.get(task.batch)
        if task is None or batch is None or not _active(batch, timed):
            continue
        if (task.status, task.updated_ms) == (move.status, move.moved_ms):
            found.append(task)
    return found


def issue_findings(
    view: DeckView, tasks: Iterable[Task], facts: Mapping[IssueRef, IssueFact]
) -> Iterator[Finding]:
    """What follows from the facts about the tasks' issues; the same event is acted upon once."""
    tasks = list(tasks)
    refs = issues_of(tasks)
    for task in tasks:
        ref = refs.get(task.id)
        fact = None if ref is None else facts.get(ref)
        if ref is None or fact is None:
            continue
        finding = _of_issue(view, task, ref, fact)
        if finding is not None:
            yield finding


def _of_issue(view: DeckView, task: Task, ref: IssueRef, fact: IssueFact) -> Finding | None:
    known = view.issue_moves.get(task.id)
    settled_by_it = (
        known is not None
        and known.event.startswith("closed")
        and (task.status, task.updated_ms) == (known.status, known.moved_ms)
    )
    if fact.state is IssueState.OPEN:
        latest = view.turns.get(task.turn or 0)
        still_ending = latest is not None and latest.ended_ms is None
        if not settled_by_it or known is None or still_ending:
            return None
        event = f"reopened after {known.event}"
        return _issue_finding(task, Status.READY, event, f"{ref.words} was opened again")
    if settled_by_it or (known is not None and known.event.endswith(_event(fact))):
        return None
    move = issue_means(fact)
    if move is None or (move is not task.status and not may_move(task.status, move)):
        return None
    status, words = move, f"{ref.words} {_closed_words(fact)}"
    return _issue_finding(task, status, _event(fact), words)


def _issue_finding(task: Task, move: Status, event: str, why: str) -> Finding:
    return Finding(FindingKind.ISSUE, task.id, task.status, task.turn, move, event, why)


def issue_means(fact: IssueFact) -> Status | None:
    """The status that an issue's state gives its task; None: it says nothing.

    A pull request that was closed without being merged says nothing either way, nor does a reason
    that is not known.
    """
    if fact.state is IssueState.MERGED:
        return Status.MERGED
    if fact.state is IssueState.DELETED:
        return Status.FAILED
    if fact.state is not IssueState.CLOSED or fact.is_pull:
        return None
    return _MEANINGS.get(fact.reason)


def _event(fact: IssueFact) -> str:
    return f"closed {fact.event}"


def _closed_words(fact: IssueFact) -> str:
    if fact.state is IssueState.MERGED:
        return "was merged"
    if fact.state is IssueState.DELETED:
        return "was deleted"
    return f"was closed as {fact.reason.replace('_', ' ')}" if fact.reason else "was closed"
