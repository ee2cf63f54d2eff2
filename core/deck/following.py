"""What follows from findings, task by task: only for a task that still is as it was seen."""

from __future__ import annotations

from dataclasses import replace

from batchdeck.core.deck.handling.answers import take_up
from batchdeck.core.deck.letters import Found
from batchdeck.core.deck.moving import move_task, supersede
from batchdeck.core.deck.tasks import complete_task, finish_batch
from batchdeck.core.deck.work import Work
from batchdeck.core.model.task import Status, Task, may_move
from batchdeck.core.model.turn import DECIDES_TASK, TurnState
from batchdeck.core.rules.reconciling import Finding, FindingKind

BY = "reconciliation"
BY_TRACKER = "tracker"


def follow(work: Work, found: Found) -> None:
    """Applies findings; a task that has changed since is left to the next look."""
    if found.begins:
        work.emit("reconcile.started", by=BY, reason=found.begins)
    if found.trackers is not None:
        work.state.trackers = found.trackers
    for error in found.errors:
        work.emit("reconcile.error", by=BY, error=error)
    for finding in found.findings:
        if finding.task in found.applied:
            found.applied.remove(finding.task)  # the round is carried out again
    for finding in found.findings:
        task = work.state.tasks.get(finding.task)
        if task is None or (task.status, task.turn) != (finding.status, finding.turn):
            continue
        if _apply(work, finding, task):
            found.applied.append(task.id)


def _apply(work: Work, finding: Finding, task: Task) -> bool:
    if finding.kind is FindingKind.DONE:
        return _supersede(work, finding, task)
    if finding.kind is FindingKind.UNBLOCKED:
        return _take_up(work, finding, task)
    return _move(work, finding, task)


def _supersede(work: Work, finding: Finding, task: Task) -> bool:
    open_ones = [
        turn
        for turn in work.state.open_turns(task)
        if turn.trigger in DECIDES_TASK and turn.state is not TurnState.STOPPING
    ]
    for turn in open_ones:
        supersede(work, turn, BY)
    if not open_ones:
        return False
    complete_task(work, task)
    finish_batch(work, task.batch)
    _tell(work, "reconcile.skipped", finding, task, BY)
    return True


def _take_up(work: Work, finding: Finding, task: Task) -> bool:
    if not work.state.blockers_of(task.id) or work.state.has_open_blocker(task.id):
        return False
    take_up(work, task, BY)
    _tell(work, "reconcile.requeued", finding, work.state.tasks[task.id], BY)
    return True


def _move(work: Work, finding: Finding, task: Task) -> bool:
    move = finding.move
    if move is None or (move is not task.status and not may_move(task.status, move)):
        return False
    if move is Status.READY and task.agent not in work.state.agents:
        work.note_issue_move(task, finding.event)
        words = f"{finding.why}; agent {task.agent} was removed"
        _tell(work, "reconcile.error", replace(finding, why=words), task, BY_TRACKER)
        return True
    task = move_task(work, task, move, BY_TRACKER, why=finding.why, stop=move is not Status.READY)
    work.note_issue_move(task, finding.event)
    kind = "reconcile.requeued" if move is Status.READY else "reconcile.skipped"
    _tell(work, kind, finding, task, BY_TRACKER)
    return True


def _tell(work: Work, kind: str, finding: Finding, task: Task, by: str) -> None:
    turn = None if task.turn is None else work.state.turns.get(task.turn)
    work.emit(kind, turn, task=task, by=by, status=task.status, reason=finding.why)
