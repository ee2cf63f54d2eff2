"""States are tables of moves: every pair of a task's statuses and of a turn's states."""

from __future__ import annotations

import itertools

import pytest

from batchdeck.core.model.task import ADMISSIBLE, COMPLETED, MOVES, SETTLED, Status, may_move
from batchdeck.core.model.turn import ENDED, LIVE, TURN_MOVES, TurnState

LEGAL_STATUS_MOVES = {
    "BACKLOG": "READY FAILED DONE MERGED",
    "READY": "BACKLOG IN_PROGRESS BLOCKED FAILED DONE MERGED",
    "IN_PROGRESS": "READY BLOCKED FAILED DONE MERGED",
    "BLOCKED": "READY IN_PROGRESS FAILED DONE MERGED",
    "FAILED": "BACKLOG READY IN_PROGRESS DONE MERGED",
    "DONE": "READY MERGED",
    "MERGED": "READY",
}

ENDS = "succeeded failed incomplete cancelled lost superseded"
LEGAL_TURN_MOVES = {
    "queued": "running cancelled superseded",
    "running": f"queued stopping waiting {ENDS}",
    "stopping": f"queued {ENDS}",
    "waiting": "succeeded failed cancelled superseded",
    **dict.fromkeys(ENDS.split(), ""),
}


@pytest.mark.parametrize(("before", "after"), itertools.product(Status, Status))
def test_a_task_moves_only_as_the_table_says(before: Status, after: Status) -> None:
    assert may_move(before, after) == (after in LEGAL_STATUS_MOVES[before].split())


@pytest.mark.parametrize(("before", "after"), itertools.product(TurnState, TurnState))
def test_a_turn_moves_only_as_the_table_says(before: TurnState, after: TurnState) -> None:
    assert (after in TURN_MOVES[before]) == (after in LEGAL_TURN_MOVES[before].split())


def test_there_are_these_seven_statuses_and_no_others() -> None:
    words = "BACKLOG READY IN_PROGRESS BLOCKED FAILED DONE MERGED".split()
    assert list(Status) == words
    assert list(MOVES) == words


def test_only_ready_and_tasks_in_progress_may_be_started() -> None:
    assert set(ADMISSIBLE) == {Status.READY, Status.IN_PROGRESS}


def test_merged_counts_as_done_and_failed_as_settled() -> None:
    assert set(COMPLETED) == {Status.DONE, Status.MERGED}
    assert set(SETTLED) == {Status.DONE, Status.MERGED, Status.FAILED}


@pytest.mark.parametrize("state", TurnState)
def test_every_turn_is_queued_live_waiting_or_ended_and_ends_are_final(state: TurnState) -> None:
    kinds = [state is TurnState.QUEUED, state in LIVE, state is TurnState.WAITING, state in ENDED]
    assert kinds.count(True) == 1
    assert (not TURN_MOVES[state]) == (state in ENDED)


def test_every_task_can_be_brought_to_done_by_a_person() -> None:
    for status in set(Status) - {Status.DONE, Status.MERGED}:
        assert may_move(status, Status.DONE)
