"""A deck's state in memory: what the writer works on, and the views it publishes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from batchdeck.core.agents.asking import Reply
from batchdeck.core.deck.items import Items
from batchdeck.core.deck.lines import Lines
from batchdeck.core.deck.next_ids import NextIds
from batchdeck.core.deck.tallying import Ends
from batchdeck.core.difference import RowNews
from batchdeck.core.model.account import Cooldown
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import Batch, BatchState
from batchdeck.core.model.blocker import Blocker, BlockerState
from batchdeck.core.model.budget import Budget, Spent
from batchdeck.core.model.conversation import Conversation
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.issue import TrackerStanding
from batchdeck.core.model.limit import DEFAULT_AGENT_CAP, DEFAULT_GLOBAL_CAP, Limit
from batchdeck.core.model.line import conversation_line
from batchdeck.core.model.permission import Allowance
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import DECIDES_TASK, ENDED, LIVE, Turn, TurnState, is_move
from batchdeck.core.rules.quiescing import quiesced
from batchdeck.core.rules.standing import limit_names
from batchdeck.core.view import AgentTally, DeckView, IssueMove, ItemsStanding, Pulse, Spending

KEPT_ENDED = 2_000
"""Ended turns that stay in memory, for the screen; older ones are in the store."""


@dataclass(slots=True)
class DeckState:
    """Everything the rules need, changed by the writer alone."""

    deck: str = ""
    turns: dict[int, Turn] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    tallies: dict[str, AgentTally] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    limits: dict[str, Limit] = field(default_factory=dict)
    holds: dict[str, Hold] = field(default_factory=dict)
    asks: dict[int, Ask] = field(default_factory=dict)
    replies: dict[int, Reply] = field(default_factory=dict)
    """Of the asks that a live agent waits for."""
    allowances: dict[int, Allowance] = field(default_factory=dict)
    """By the ask that was answered so."""
    blockers: dict[int, Blocker] = field(default_factory=dict)
    """Those that are not spent."""
    issue_moves: dict[int, IssueMove] = field(default_factory=dict)
    """Per task: what an event of its issue led to."""
    trackers: tuple[TrackerStanding, ...] = ()
    elsewhere: dict[int, None] = field(default_factory=dict)
    """Tasks that were completed elsewhere while a turn of theirs was queued or at work."""
    received: dict[str, int] = field(default_factory=dict)
    """The latest deliveries, with the turns that they made."""
    conversations: dict[int, Conversation] = field(default_factory=dict)
    named: dict[tuple[str, str], int] = field(default_factory=dict)
    """Conversations that steps of a foreach name, by batch and name."""
    folders: dict[str, int] = field(default_factory=dict)
    """Row ids of known folders by key."""
    folder_paths: dict[str, str] = field(default_factory=dict)
    """Their paths, by key."""
    defined_folders: dict[str, str] = field(default_factory=dict)
    foreaches: dict[str, Items] = field(default_factory=dict)
    """By batch, for those with a foreach."""
    places: dict[str, Folder] = field(default_factory=dict)
    """Identities of folders by path, where later steps of items may work."""
    pulses: dict[int, Pulse] = field(default_factory=dict)
    cooldowns: dict[str, Cooldown] = field(default_factory=dict)
    refused: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By account: the turn that has tried it for nothing last, and how often in a row."""
    """By account."""
    spent: dict[str, Spent] = field(default_factory=dict)
    """By `agent:NAME` and `batch:NAME`."""
    budgets_of: dict[str, Budget] = field(default_factory=dict)
    """By batch."""
    budgets: dict[str, Spending] = field(default_factory=dict)
    """How they stand, by their names in a view."""
    closed_as_of_ms: int = 0
    """When it was last worked out what admits nothing: the scheduler has it so."""
    next: NextIds = field(default_factory=NextIds)
    draining: bool = False
    fault: str | None = None
    broken: bool = False
    """The fault is of our own making; only a restart makes it good."""
    banner: str | None = None
    """What was found when the deck was opened."""
    remark: str | None = None
    """What has come to light since."""
    violations: tuple[str, ...] = ()
    incomplete: set[str] = field(default_factory=set)
    """Batches of which tasks could not be read: they do not come to their end."""
    supervised: bool = True
    max_parallel_cap: int = DEFAULT_GLOBAL_CAP
    parallelism_limit_cap: int = DEFAULT_AGENT_CAP

    # derived, kept as rows change
    running_by: dict[str, int] = field(default_factory=dict)
    queued_by: dict[str, int] = field(default_factory=dict)
    live: dict[int, None] = field(default_factory=dict)
    counts: dict[TurnState, int] = field(default_factory=dict)
    forced: int = 0
    task_counts: dict[str, dict[Status, int]] = field(default_factory=dict)
    task_ids: dict[tuple[str, str], int] = field(default_factory=dict)
    children: dict[int, list[int]] = field(default_factory=dict)
    """Tasks that depend on a task."""
    lines: Lines = field(init=False)
    ended: deque[int] = field(default_factory=deque)
    unfinished: dict[str, int] = field(default_factory=dict)
    """Per batch: its turns that have not ended and decide a task."""
    waiting: dict[int, None] = field(default_factory=dict)
    edited: dict[int, int] = field(default_factory=dict)
    """How often a queued turn's text was changed, by this process; never stored."""
    revision: int = 0
    kept_ended: int = KEPT_ENDED
    _ends: Ends = field(default_factory=Ends)
    _published: dict[str, Any] = field(default_factory=dict)
    _stale: set[str] = field(default_factory=set)
    _turn_news: RowNews = field(default_factory=RowNews)
    _task_news: RowNews = field(default_factory=RowNews)

    def __post_init__(self) -> None:
        self.lines = Lines(self.turns)

    # -- changing rows

    def put_turn(self, turn: Turn) -> Turn | None:
        """Takes in a new or changed turn, and returns what it was before."""
        before = self.turns.get(turn.id)
        if before is not None:
            assert is_move(before.state, turn.state), f"#{turn.id}: {before.state} → {turn.state}"
            self._count(before, -1)
            if before.target != turn.target:
                self.lines.leave(before)
                self.lines.enter(turn)
        elif turn.state not in ENDED:
            self.lines.enter(turn)
        self.turns[turn.id] = turn
        self._turn_news.touch(turn.id)
        self._count(turn, 1)
        if turn.state in ENDED and (before is None or before.state not in ENDED):
            if before is not None:
                self.lines.leave(turn)
            self.ended.append(turn.id)
        if turn.batch in self.foreaches and turn.task is not None:
            task = self.tasks[turn.task]
            if task.index is not None:
                self.foreaches[turn.batch].note_turn(turn, task)
        self._stale.add("turns")
        return before

    def _count(self, turn: Turn, step: int) -> None:
        state = turn.state
        self.counts[state] = self.counts.get(state, 0) + step
        if state in ENDED:
            return
        if turn.batch is not None and turn.trigger in DECIDES_TASK:
            self.unfinished[turn.batch] = self.unfinished.get(turn.batch, 0) + step
        if state is not TurnState.QUEUED:
            self.lines.occupy(turn, step)
        if state is TurnState.WAITING:
            if step > 0:
                self.waiting[turn.id] = None
            else:
                self.waiting.pop(turn.id, None)
            return
        counts = self.queued_by if state is TurnState.QUEUED else self.running_by
        for name in limit_names(turn):
            counts[name] = counts.get(name, 0) + step
        if state in LIVE:
            if turn.forced:
                self.forced += step
            if step > 0:
                self.live[turn.id] = None
            else:
                self.live.pop(turn.id, None)

    def forget_old_ends(self) -> None:
        """Lets go of all but the latest ended turns; never of one that is still to be written."""
        while len(self.ended) > self.kept_ended:
            oldest = self.ended.popleft()
            if not self._asked_about(oldest):
                self.turns.pop(oldest, None)
                self.edited.pop(oldest, None)
                self._turn_news.touch(oldest)
                self._stale.add("turns")

    def _asked_about(self, turn: int) -> bool:
        return any(ask.turn == turn for ask in self.asks.values())

    def put_task(self, task: Task) -> Task | None:
        """Takes in a new or changed task, and returns what it was before."""
        before = self.tasks.get(task.id)
        counts = self.task_counts.get(task.batch)
        if counts is None:
            counts = self.task_counts[task.batch] = {}
        if before is not None and not task.barrier:
            self.task_counts[before.batch][before.status] -= 1
        if before is not None and before.batch != task.batch:
            del self.task_ids[before.batch, before.key]
        if before is None or before.batch != task.batch:
            self.task_ids[task.batch, task.key] = task.id
        if before is None:
            for parent in task.depends_on:
                self.children.setdefault(parent, []).append(task.id)
        if not task.barrier:
            counts[task.status] = counts.get(task.status, 0) + 1
        self.tasks[task.id] = task
        self._task_news.touch(task.id)
        if task.batch in self.foreaches and task.index is not None:
            self.foreaches[task.batch].note_task(task)
        self._stale.add("tasks")
        return before

    def conversation_of(self, task: Task) -> int:
        """The conversation that a task's turn is in: a named one, else its own."""
        return task.conversation if task.shared is None else self.named[task.batch, task.shared]

    def know_conversation(self, found: Conversation) -> None:
        """Takes in a conversation."""
        self.conversations[found.id] = found
        if found.batch is not None and found.called is not None:
            self.named[found.batch, found.called] = found.id

    def touch(self, *names: str) -> None:
        """Notes that mappings (by their field's name) changed."""
        self._stale.update(names)

    # -- views

    @property
    def running(self) -> int:
        return len(self.live)

    @property
    def mode(self) -> str:
        """The deck's mode in one word."""
        if not self.supervised:
            return "stopped"
        if self.draining:
            return "draining"
        if "deck" in self.holds:
            return "held"
        if self.asks and quiesced(self.asks.values(), self.turns, self.batches):
            return "quiescing"
        if any(batch.state is BatchState.RUNNING for batch in self.batches.values()):
            return "running"
        return "running" if self.live or self.counts.get(TurnState.QUEUED) else "idle"

    def snapshot(self, at_ms: int) -> DeckView:
        """The state as it is, without copying: true until the next change, and not to be kept."""
        return self._view(at_ms, self._as_it_is)

    @property
    def banner_words(self) -> str | None:
        """What every screen shows on top."""
        return " ".join(filter(None, (self.banner, self.remark))) or None

    def publish(self, at_ms: int) -> DeckView:
        """A view that stays as it is; only mappings that changed are copied."""
        self._ends.add_to(self.tallies)
        self._turn_news.publish(self.revision)
        self._task_news.publish(self.revision)
        view = self._view(at_ms, self._copied)
        self._stale.clear()
        return view

    def _as_it_is(self, _name: str, mapping: Mapping[Any, Any]) -> Mapping[Any, Any]:
        return mapping

    def _copied(self, name: str, mapping: Mapping[Any, Any]) -> Mapping[Any, Any]:
        kept: Mapping[Any, Any] | None = self._published.get(name)
        source = _SOURCE_OF.get(name, name)
        if kept is None or source in self._stale:
            kept = self._published[name] = MappingProxyType(dict(mapping))
        return kept

    def _view(self, at_ms: int, kept: Any) -> DeckView:
        return DeckView(
            revision=self.revision,
            at_ms=at_ms,
            deck=self.deck,
            mode=self.mode,
            fault=self.fault,
            broken=self.broken,
            supervised=self.supervised,
            running=len(self.live),
            queued=self.counts.get(TurnState.QUEUED, 0),
            waiting=len(self.waiting),
            waiting_turns=tuple(self.waiting),
            forced=self.forced,
            running_by=kept("running_by", self.running_by),
            queued_by=kept("queued_by", self.queued_by),
            live=tuple(self.live),
            in_order=kept("in_order", self.lines.contended),
            turns=kept("turns", self.turns),
            turn_news=self._turn_news.told,
            tasks=kept("tasks", self.tasks),
            task_news=self._task_news.told,
            agents=kept("agents", self.agents),
            agent_tallies=kept("agent_tallies", self.tallies),
            batches=kept("batches", self.batches),
            task_counts=self._kept_counts(kept),
            limits=kept("limits", self.limits),
            holds=kept("holds", self.holds),
            asks=kept("asks", self.asks),
            allowances=kept("allowances", self.allowances),
            blockers=kept("blockers", self.blockers),
            trackers=self.trackers,
            elsewhere=kept("elsewhere", self.elsewhere),
            issue_moves=kept("issue_moves", self.issue_moves),
            pulses=kept("pulses", self.pulses),
            cooldowns=kept("cooldowns", self.cooldowns),
            budgets=kept("budgets", self.budgets),
            spent=kept("spent", self.spent),
            items={name: self._standing(items) for name, items in self.foreaches.items()},
            draining=self.draining,
            max_parallel_cap=self.max_parallel_cap,
            parallelism_limit_cap=self.parallelism_limit_cap,
            banner=self.banner_words,
            violations=self.violations,
        )

    def _standing(self, items: Items) -> ItemsStanding:
        barrier = None if items.barrier is None else self.tasks[items.barrier]
        if barrier is None or barrier.status is not Status.FAILED:
            return items.standing
        return replace(items.standing, refused=barrier.error)

    def _kept_counts(self, kept: Any) -> Mapping[str, Mapping[Status, int]]:
        if kept == self._as_it_is:
            return self.task_counts
        name = "task_counts"
        if name not in self._published or "tasks" in self._stale:
            copies = {batch: MappingProxyType(dict(c)) for batch, c in self.task_counts.items()}
            self._published[name] = MappingProxyType(copies)
        counts: Mapping[str, Mapping[Status, int]] = self._published[name]
        return counts

    # -- small questions

    def open_turns(self, task: Task) -> list[Turn]:
        """The turns of a task that have not ended, messages about it included."""
        members = self.lines.members(conversation_line(task.conversation))
        found = [self.turns[member] for member in members]
        latest = None if task.shared is None else self.turns.get(task.turn or 0)
        if latest is not None and latest.state not in ENDED and latest not in found:
            found.append(latest)
        return found

    def blockers_of(self, task: int) -> list[Blocker]:
        """What blocks a task, or did since it was last moved to BLOCKED."""
        return [blocker for blocker in self.blockers.values() if blocker.task == task]

    def has_open_blocker(self, task: int) -> bool:
        return any(one.state is BlockerState.OPEN for one in self.blockers_of(task))

    def open_dependencies(self, depends_on: Iterable[int]) -> tuple[int, ...]:
        """Those of the tasks that are not DONE or MERGED."""
        done = (Status.DONE, Status.MERGED)
        return tuple(task for task in depends_on if self.tasks[task].status not in done)

    def tally_end(self, turn: Turn, at_ms: int) -> None:
        """Counts an ended turn for its agent; a view is given the sums when it is made."""
        self._ends.note(turn, at_ms)
        self._stale.add("tallies")


_SOURCE_OF = {
    "running_by": "turns",
    "queued_by": "turns",
    "in_order": "turns",
    "agent_tallies": "tallies",
}
"""Views' mappings that change with others."""
