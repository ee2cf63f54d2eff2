"""The deck as it was: the present view, taken back by the events since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.event import Event
from batchdeck.core.model.hold import DECK, Hold
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.line import lines_of
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import ENDED, LIVE, Trigger, Turn, TurnState
from batchdeck.core.rules.standing import limit_names
from batchdeck.core.view import AgentTally, DeckView

_OF_TURNS = frozenset({"turn.queued", "turn.claimed", "turn.finished"})
_DONE = frozenset({TurnState.SUCCEEDED, TurnState.SUPERSEDED})
_FAILED = frozenset({TurnState.FAILED, TurnState.INCOMPLETE, TurnState.LOST})


class History:
    """What is known of the past, as far as the events reach.

    Args:
        events: In their order; the latest ones, without a gap.
    """

    def __init__(self, view: DeckView, events: Sequence[Event]) -> None:
        self._view = view
        self._events = events
        self._task_ids = {task.name: task.id for task in view.tasks.values()}
        self._of_turn: dict[int, list[Event]] = {}
        for event in events:
            if event.turn is not None and event.kind in _OF_TURNS:
                self._of_turn.setdefault(event.turn, []).append(event)

    @property
    def earliest_ms(self) -> int:
        """The moment before which nothing is known."""
        return self._events[0].at_ms if self._events else self._view.at_ms

    def at(self, moment_ms: int) -> DeckView:
        """The deck as it was at a moment (UTC ms); its revision is -1."""
        since = [event for event in reversed(self._events) if event.at_ms > moment_ms]
        turns = dict(self._turns_at(moment_ms))
        tasks = self._tasks_before(since)
        live = [turn for turn in turns.values() if turn.state in LIVE]
        queued = [turn for turn in turns.values() if turn.state is TurnState.QUEUED]
        waiting = [turn.id for turn in turns.values() if turn.state is TurnState.WAITING]
        holds, draining = _holds_before(self._view, since)
        return replace(
            self._view,
            revision=-1,
            at_ms=moment_ms,
            mode=_mode(holds, draining, bool(live or queued)),
            fault=None,
            banner=None,
            running=len(live),
            queued=len(queued),
            waiting=len(waiting),
            forced=sum(bool(turn.forced) for turn in live),
            running_by=_counted(live),
            queued_by=_counted(queued),
            live=tuple(turn.id for turn in live),
            waiting_turns=tuple(waiting),
            in_order=_lines(turns.values()),
            turns=turns,
            turn_news=(),
            tasks=tasks,
            task_news=(),
            task_counts=_task_counts(tasks.values()),
            limits=_limits_before(self._view.limits, since),
            holds=holds,
            draining=draining,
            asks={k: ask for k, ask in self._view.asks.items() if ask.opened_ms <= moment_ms},
            pulses={},
            agent_tallies=_tallies_before(self._view.agent_tallies, since, moment_ms),
            batches={
                name: batch
                if batch.ended_ms is None or batch.ended_ms <= moment_ms
                else replace(batch, state=BatchState.RUNNING, ended_ms=None)
                for name, batch in self._view.batches.items()
                if batch.created_ms <= moment_ms
            },
        )

    # turns

    def _turns_at(self, moment_ms: int) -> Iterable[tuple[int, Turn]]:
        known = self._view.turns
        for turn_id in sorted(known.keys() | self._of_turn.keys()):
            turn = known.get(turn_id) or self._forgotten(turn_id)
            then = self._turn_at(turn, moment_ms)
            if then is not None:
                yield turn_id, then

    def _forgotten(self, turn_id: int) -> Turn:
        """A turn that is not in the view any more, from what its events tell."""
        events = self._of_turn[turn_id]
        fields: dict[str, Any] = {}
        for event in events:
            fields.update(event.fields)
        lane = fields.get("lane")
        return Turn(
            id=turn_id,
            agent=events[-1].agent or "",
            conversation=-turn_id,
            trigger=Trigger(fields.get("trigger", Trigger.TASK)),
            position=fields.get("position", turn_id),
            task=self._task_ids.get(events[-1].task or ""),
            batch=events[-1].batch,
            lane=None if lane is None else Status(lane),
            queued_ms=events[0].at_ms,
        )

    def _turn_at(self, turn: Turn, moment_ms: int) -> Turn | None:
        events = self._of_turn.get(turn.id, ())
        before = [event for event in events if event.at_ms <= moment_ms]
        if not before:
            return _by_its_row(turn, moment_ms, told_later=bool(events))
        if len(before) == len(events) and turn.id in self._view.turns:
            return turn  # nothing has happened to it since
        last = before[-1]
        if last.kind == "turn.queued":
            return _queued(turn)
        if last.kind == "turn.claimed":
            return replace(_queued(turn), state=TurnState.RUNNING, started_ms=last.at_ms)
        claims = [event.at_ms for event in before if event.kind == "turn.claimed"]
        return replace(
            turn,
            state=TurnState(last.fields.get("state", TurnState.SUCCEEDED)),
            started_ms=claims[-1] if claims else turn.started_ms,
            ended_ms=last.at_ms,
        )

    # tasks

    def _tasks_before(self, since: Sequence[Event]) -> dict[int, Task]:
        tasks = dict(self._view.tasks)
        for event in since:
            task_id = self._task_ids.get(event.task or "")
            before = event.fields.get("before")
            if event.kind == "task.status" and task_id is not None and before:
                tasks[task_id] = replace(tasks[task_id], status=Status(before))
        return tasks


def _by_its_row(turn: Turn, moment_ms: int, told_later: bool) -> Turn | None:
    """A turn of which the events say nothing up to the moment."""
    if turn.queued_ms > moment_ms:
        return None
    if turn.ended_ms is not None and turn.ended_ms <= moment_ms:
        return turn
    if not told_later and turn.started_ms is not None and turn.started_ms <= moment_ms:
        return turn if turn.ended_ms is None else replace(_queued(turn), state=TurnState.RUNNING)
    return _queued(turn)


def _queued(turn: Turn) -> Turn:
    return replace(
        turn, state=TurnState.QUEUED, started_ms=None, ended_ms=None, error=None, exit_code=None
    )


def _limits_before(limits: Mapping[str, Limit], since: Sequence[Event]) -> dict[str, Limit]:
    then = dict(limits)
    for event in since:
        name = event.fields.get("name")
        if event.kind == "limit.changed" and name in then:
            then[name] = replace(then[name], value=event.fields.get("before"))
    return then


def _holds_before(view: DeckView, since: Sequence[Event]) -> tuple[dict[str, Hold], bool]:
    holds, draining = dict(view.holds), view.draining
    for event in since:
        named = event.fields.get("what", "")
        what = event.fields.get("key", named)
        if event.kind not in ("hold", "release"):
            continue
        if what == "drain":
            draining = event.kind == "release"
        elif event.kind == "hold":
            holds.pop(what, None)
        elif not what.startswith("turn:"):
            path = None if what == named else named.removeprefix("folder:")
            holds[what] = Hold(what, "somebody", path=path)
    return holds, draining


def _mode(holds: Mapping[str, Hold], draining: bool, busy: bool) -> str:
    if draining:
        return "draining"
    if DECK in holds:
        return "held"
    return "running" if busy else "idle"


def _tallies_before(
    tallies: Mapping[str, AgentTally], since: Sequence[Event], moment_ms: int
) -> dict[str, AgentTally]:
    ends = Counter(
        (event.agent, event.fields.get("state")) for event in since if event.kind == "turn.finished"
    )
    return {
        agent: AgentTally(
            done=tally.done - sum(ends[agent, state] for state in _DONE),
            failed=tally.failed - sum(ends[agent, state] for state in _FAILED),
            recent_ms=tuple(end for end in tally.recent_ms if end <= moment_ms),
        )
        for agent, tally in tallies.items()
    }


def _counted(turns: Iterable[Turn]) -> dict[str, int]:
    return dict(Counter(name for turn in turns for name in limit_names(turn)))


def _lines(turns: Iterable[Turn]) -> dict[str, tuple[int, ...]]:
    members: dict[str, list[Turn]] = {}
    for turn in turns:
        if turn.state in ENDED:
            continue
        for line in lines_of(turn):
            members.setdefault(line, []).append(turn)
    return {
        line: tuple(turn.id for turn in sorted(found, key=lambda t: (t.position, t.id)))
        for line, found in members.items()
        if len(found) > 1
    }


def _task_counts(tasks: Iterable[Task]) -> dict[str, dict[Status, int]]:
    counts: dict[str, dict[Status, int]] = {}
    for task in tasks:
        of_batch = counts.setdefault(task.batch, {})
        of_batch[task.status] = of_batch.get(task.status, 0) + 1
    return counts
