"""One transaction in the making: rows changed in memory, and what is to be written of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

from batchdeck.core.deck.admitting import choose_items
from batchdeck.core.deck.restoring import only_limits_left
from batchdeck.core.deck.scheduler import Scheduler
from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.blocker import Blocker, BlockerState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.task import COMPLETED, Because, Status, Task
from batchdeck.core.model.turn import DECIDES_TASK, Turn, TurnState
from batchdeck.core.store import changes as sql
from batchdeck.core.store.batch_rows import batch_values
from batchdeck.core.store.changes import Changes
from batchdeck.core.store.events import Noted, events_row
from batchdeck.core.store.rows import (
    STATE_CODES,
    ask_values,
    blocker_values,
    cooldown_values,
    forced_text,
    plain,
    task_values,
    turn_values,
)
from batchdeck.core.view import DeckView, IssueMove

if TYPE_CHECKING:
    from batchdeck.core.deck.handling.parts import Coming
    from batchdeck.core.deck.letters import Part


@dataclass(slots=True)
class Work:
    """What the letters of one round do to the state, until it is on disk.

    Handlers check first and change afterwards: one that raises must have changed nothing.
    """

    state: DeckState
    scheduler: Scheduler
    now_ms: int
    changes: Changes = field(default_factory=Changes)
    events: list[Noted] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)
    """Turns that are claimed by this transaction."""
    stops: list[int] = field(default_factory=list)
    """Running turns whose process is to be ended once this is on disk."""
    due: list[tuple[int, int]] = field(default_factory=list)
    """`(not_before_ms, turn)` of turns to look at again."""
    coming: Coming | None = None
    """The batch of which the command at hand leaves a part for another round."""
    parts: list[Part] = field(default_factory=list)
    """What is to be posted for those, once this is on disk."""
    after: list[Callable[[], None]] = field(default_factory=list)
    """What is to be called once this is on disk."""
    started: dict[str, int] = field(default_factory=dict)
    """Attempts that began to work, and when; one that ends in the same round is written once."""
    _turn_states: dict[int, TurnState | None] = field(default_factory=dict)
    _claimed: dict[int, Turn] = field(default_factory=dict)
    """Claimed turns as they were before."""
    _tasks: dict[int, bool] = field(default_factory=dict)
    """Changed tasks, and whether each may be done on disk by now."""
    _added: set[int] = field(default_factory=set)
    _spent: set[str] = field(default_factory=set)
    _accounts: set[str] = field(default_factory=set)

    @property
    def view(self) -> DeckView:
        """The state as it is now; not to be kept."""
        return self.state.snapshot(self.now_ms)

    # -- turns

    def put_turn(self, turn: Turn) -> None:
        """Takes in a new or changed turn, and notes that it is to be written."""
        before = self.state.put_turn(turn)
        if turn.state is TurnState.QUEUED:
            self.scheduler.renew(turn)
        else:
            self.scheduler.remove(turn.id)
        if turn.id not in self._turn_states:
            self._turn_states[turn.id] = None if before is None else before.state

    def refresh(self, turn_id: int) -> None:
        """Lets the scheduler know a queued turn that may have become eligible, or stopped being."""
        turn = self.state.turns[turn_id]
        if only_limits_left(turn, self.state, self.now_ms):
            self.scheduler.add(turn)
            return
        self.scheduler.remove(turn.id)
        if turn.state is TurnState.QUEUED and turn.not_before_ms > self.now_ms:
            self.due.append((turn.not_before_ms, turn.id))

    def choose_items(self) -> None:
        """Lets the scheduler know which items of each foreach may be at work now."""
        for entered, left in choose_items(self.state):
            for turn in left:
                self.scheduler.remove(turn)
            for turn in entered:
                self.refresh(turn)

    def requeue_changed(self, turn: Turn) -> None:
        """Takes in a queued turn whose place or lane changed."""
        self.put_turn(turn)
        self.refresh(turn.id)

    def claim(self, turn: Turn, forced: tuple[str, ...] = (), by: str | None = None) -> Turn:
        """Makes a queued turn running; its slots are already taken in the scheduler."""
        assert turn is self.state.turns[turn.id], f"#{turn.id} has changed since"
        attempt = self.state.next.attempt()
        running = evolve(
            turn,
            state=TurnState.RUNNING,
            attempt=attempt,
            attempts=turn.attempts + 1,
            forced=forced,
            forced_by=by,
            started_ms=self.now_ms,
            error=None,
        )
        self.state.put_turn(running)
        self._claimed[turn.id] = turn
        self.changes.claims.append(
            (
                turn.id,
                attempt,
                running.attempts,
                turn.lane,
                forced_text(forced),
                by,
                self.now_ms,
            )
        )
        version = self.state.agents[turn.agent].version
        row = (attempt, turn.id, running.attempts, version, self.now_ms)
        self.changes.add(sql.INSERT_ATTEMPT, row)
        self.launches.append(turn.id)
        self.emit("turn.claimed", running, attempt=attempt, number=running.attempts)
        return running

    # -- other rows

    def put_task(self, task: Task) -> None:
        """Takes in a changed task; new ones come by `add_task`."""
        known = self.state.tasks.get(task.id)
        done = known is not None and known.status in COMPLETED
        self._tasks.setdefault(task.id, done or task.id in self._added)
        self.state.put_task(task)

    def add_task(self, task: Task, prompt: str, fingerprint: str) -> None:
        self.state.put_task(task)
        self._added.add(task.id)
        self.changes.add(sql.INSERT_TASK, task_values(task, prompt, fingerprint))
        for needed in task.depends_on:
            self.changes.add(sql.INSERT_DEPENDENCY, (task.id, needed))

    def set_status(
        self,
        task_id: int,
        status: Status,
        *,
        turn: int | None = None,
        error: str | None = None,
        because: Because | None = None,
        by: str | None = None,
    ) -> Task:
        """Moves a task, and lets its queued turns know."""
        before = self.state.tasks[task_id]
        task = evolve(
            before,
            status=status,
            turn=before.turn if turn is None else turn,
            error=error,
            because=because,
            updated_ms=self.now_ms,
        )
        self.put_task(task)
        if before.status is not status:
            self.emit("task.status", task=task, by=by, before=before.status, status=status)
            self._follow(task)
            if before.status is Status.BLOCKED:
                self._spend_blockers(task.id)
            if status not in COMPLETED and task.id in self.state.elsewhere:
                del self.state.elsewhere[task.id]
                self.state.touch("elsewhere")
        return task

    def _spend_blockers(self, task: int) -> None:
        """The task is not BLOCKED any more: nothing of this is in the way of a later time."""
        for blocker in self.state.blockers_of(task):
            left = blocker.state is BlockerState.OPEN
            state = BlockerState.RESOLVED if left else blocker.state
            self.put_blocker(evolve(blocker, state=state, spent=True))

    def _follow(self, task: Task) -> None:
        """Queued messages about a task will be admitted in the lane of its status."""
        for turn in self.state.open_turns(task):
            if turn.state is TurnState.QUEUED and turn.trigger not in DECIDES_TASK:
                self.requeue_changed(evolve(turn, lane=task.status))

    def put_batch(self, batch: Batch) -> None:
        self.state.batches[batch.name] = batch
        self.state.touch("batches")
        self.changes.add(sql.SAVE_BATCH, batch_values(batch))

    def put_ask(self, ask: Ask, *, is_open: bool) -> None:
        if is_open:
            self.state.asks[ask.id] = ask
        else:
            self.state.asks.pop(ask.id, None)
        self.state.touch("asks")
        self.changes.add(sql.SAVE_ASK, ask_values(ask))

    def put_blocker(self, blocker: Blocker) -> None:
        if blocker.spent:
            self.state.blockers.pop(blocker.id, None)
        else:
            self.state.blockers[blocker.id] = blocker
        self.state.touch("blockers")
        self.changes.add(sql.SAVE_BLOCKER, blocker_values(blocker))

    def note_issue_move(self, task: Task, event: str) -> None:
        """Remembers what an event of the task's issue led to."""
        move = IssueMove(event, task.status, task.updated_ms)
        self.state.issue_moves[task.id] = move
        self.state.touch("issue_moves")
        row = (task.id, event, str(task.status), task.updated_ms)
        self.changes.add(sql.SAVE_ISSUE_MOVE, row)

    def know_folder(self, folder: Folder) -> None:
        """Gives a folder its row, with all that is above it, the first time it is seen."""
        self.state.places[folder.path] = folder
        if folder.key in self.state.folders:
            return
        row_id = self.state.next.folder
        self.state.next.folder += 1
        self.state.folders[folder.key] = row_id
        self.state.folder_paths[folder.key] = folder.path
        self.changes.add(sql.INSERT_FOLDER, (row_id, folder.key, folder.path))
        for depth, key in enumerate(dict.fromkeys((folder.key, *folder.above))):
            self.changes.add(sql.INSERT_ABOVE, (row_id, key, depth))

    def rename_folder(self, folder: Folder) -> None:
        """A known folder has another path now: its row and what waits to work in it follow."""
        self.state.folder_paths[folder.key] = folder.path
        self.changes.add(sql.RENAME_FOLDER, (folder.path, self.state.folders[folder.key]))
        for turn in list(self.state.turns.values()):
            place = turn.folder
            if turn.state is TurnState.QUEUED and place is not None and place.key == folder.key:
                self.put_turn(evolve(turn, folder=evolve(place, path=folder.path)))

    def note_account(self, account: str) -> None:
        """Notes that how an account stands has changed, and is to be written."""
        self.state.touch("cooldowns")
        self._accounts.add(account)

    def note_spent(self, name: str) -> None:
        """Notes that a sum of what was used has changed, and is to be written."""
        self.state.touch("spent")
        self._spent.add(name)

    def keep_fact(self, key: str, value: str) -> None:
        self.changes.add(sql.SAVE_FACT, (key, value))

    # -- events

    def emit(
        self,
        kind: str,
        turn: Turn | None = None,
        *,
        task: Task | None = None,
        batch: str | None = None,
        agent: str | None = None,
        by: str | None = None,
        **fields: Any,
    ) -> None:
        """Notes an event, about a turn, a task or neither."""
        if turn is not None:
            batch, agent = turn.batch, turn.agent
            if turn.task is not None:
                task = self.state.tasks.get(turn.task)
        if task is not None and batch is None:
            batch = task.batch
        self.events.append(
            (
                self.state.next.event,
                self.now_ms,
                kind,
                None if turn is None else turn.id,
                None if task is None else task.name,
                batch,
                agent,
                by,
                fields,
            )
        )
        self.state.next.event += 1

    # -- writing

    def close(self) -> Changes:
        """The finished transaction."""
        for turn_id, before in self._turn_states.items():
            self._write_turn(self._claimed.get(turn_id) or self.state.turns[turn_id], before)
        for attempt, at_ms in self.started.items():
            self.changes.add(sql.START_ATTEMPT, (at_ms, attempt))
        for task_id, may_be_done in self._tasks.items():
            task = self.state.tasks[task_id]
            self.changes.add(
                sql.UPDATE_TASK,
                (
                    str(task.status),
                    task.turn,
                    task.attempts,
                    task.error,
                    plain(task.because),
                    task.updated_ms,
                    task.id,
                    int(may_be_done),
                ),
            )
        for name in self._spent:
            self.changes.add(sql.SAVE_SPENT, (name, *astuple(self.state.spent[name])))
        for account in self._accounts:
            cooldown = self.state.cooldowns.get(account)
            if cooldown is None:
                self.changes.add(sql.DROP_COOLDOWN, (account,))
            else:
                self.changes.add(sql.SAVE_COOLDOWN, cooldown_values(cooldown))
        if self.events:
            self.changes.add(sql.INSERT_EVENTS, events_row(self.events))
        return self.changes

    def _write_turn(self, turn: Turn, before: TurnState | None) -> None:
        folder = None if turn.folder is None else self.state.folders[turn.folder.key]
        if before is None:
            self.changes.add(sql.INSERT_TURN, turn_values(turn, folder))
            return
        self.changes.add(
            sql.UPDATE_TURN,
            (
                STATE_CODES[turn.state],
                turn.priority,
                turn.position,
                folder,
                plain(turn.lane),
                turn.not_before_ms,
                turn.held_by,
                int(turn.authorised),
                forced_text(turn.forced),
                turn.forced_by,
                turn.attempt,
                turn.attempts,
                turn.started_ms,
                turn.ended_ms,
                turn.exit_code,
                turn.error,
                turn.stopped_by,
                turn.title,
                turn.agent,
                turn.batch,
                turn.target,
                turn.id,
                STATE_CODES[before],
            ),
        )
