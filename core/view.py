"""The deck as one immutable value with a revision: what every screen and every door shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from batchdeck.core.model.account import Cooldown
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.blocker import Blocker
from batchdeck.core.model.budget import Spent
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.issue import TrackerStanding
from batchdeck.core.model.limit import DEFAULT_AGENT_CAP, DEFAULT_GLOBAL_CAP, Limit
from batchdeck.core.model.permission import Allowance
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import Turn

ViewNews = tuple[tuple[int, frozenset[int]], ...]
"""Of the latest views, oldest first: their revision, and the ids of the rows that were new, changed
or gone in them. A view that is not among them is compared as a whole."""


@dataclass(frozen=True, slots=True)
class AgentTally:
    """What an agent has done on this deck, kept by the writer and never recounted."""

    done: int = 0
    failed: int = 0
    recent_ms: tuple[int, ...] = ()
    """When its latest turns ended, oldest first; at most 64."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """The last sign of life of a running turn."""

    lines: int
    """Lines of output so far."""
    at_ms: int
    """When output last came."""
    last_line: str
    """Clean, one line."""
    processes: int | None = None
    """Of a turn that is being stopped: how many processes of it are left; None: not counted."""


@dataclass(frozen=True, slots=True)
class IssueMove:
    """What an event of a task's issue led to."""

    event: str
    status: Status
    moved_ms: int
    """The task's `updated_ms` of that move; another one: somebody has moved it since."""


@dataclass(frozen=True, slots=True)
class Spending:
    """A budget and what of it is used."""

    used: float
    limit: float
    hard: bool
    unknown: int = 0
    """Attempts of which nobody knows what they used."""


@dataclass(frozen=True, slots=True)
class ItemsStanding:
    """A foreach batch's items at work and begun, against their limits."""

    active: int
    """At work, those that were chosen to begin and wait for a slot included."""
    outstanding: int
    """Begun, or chosen to begin, and not ended."""
    max_active: int | None
    max_outstanding: int | None
    chosen: frozenset[int] = frozenset()
    """Queued turns of items that may begin, or go on after an answer, as far as these go."""
    queued: int = 0
    """Items that could begin, or go on, if there were room; those that are chosen included."""
    refused: str | None = None
    """Why the barrier committed nothing, once it was judged."""
    closed: bool = False
    """No item is to begin: the batch has ended or admits nothing more."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DeckView:
    """One consistent state of a deck, as it is on disk.

    Mappings keep the order of the ids. `turns` holds every turn that has not ended and the latest
    ones that have; `running` and `queued` are counts over all of them. Rows that did not change
    since the revision before are the same objects.
    """

    revision: int = 0
    at_ms: int = 0
    deck: str = ""
    """The folder of the deck."""
    mode: str = "idle"
    """running, held, draining, quiescing, idle or stopped."""
    fault: str | None = None
    """What is wrong with the engine itself, in words."""
    broken: bool = False
    """It does not mend by itself: nothing new starts until the supervisor is started again."""
    supervised: bool = True
    """Somebody dispatches; False: this is what was last saved."""
    running: int = 0
    queued: int = 0
    waiting: int = 0
    forced: int = 0
    """Running turns that a person sent past a limit."""
    running_by: Mapping[str, int] = field(default_factory=dict)
    """Running and stopping turns per limit's name (`agent:coder`, `status:BATCH/READY` …)."""
    queued_by: Mapping[str, int] = field(default_factory=dict)
    """Queued turns per limit's name."""
    live: tuple[int, ...] = ()
    """Ids of the running and stopping turns."""
    waiting_turns: tuple[int, ...] = ()
    """Ids of the turns that wait for a person; they keep their folder."""
    in_order: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Per `target:KEY` and `conversation:ID` with more than one turn that has not ended: their
    ids in the order of receipt."""
    turns: Mapping[int, Turn] = field(default_factory=dict)
    turn_news: ViewNews = ()
    tasks: Mapping[int, Task] = field(default_factory=dict)
    task_news: ViewNews = ()
    agents: Mapping[str, Agent] = field(default_factory=dict)
    agent_tallies: Mapping[str, AgentTally] = field(default_factory=dict)
    batches: Mapping[str, Batch] = field(default_factory=dict)
    task_counts: Mapping[str, Mapping[Status, int]] = field(default_factory=dict)
    """Per batch: how many of its tasks have each status now."""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    """Stored limits by name; a name that is absent has no limit of its own."""
    holds: Mapping[str, Hold] = field(default_factory=dict)
    asks: Mapping[int, Ask] = field(default_factory=dict)
    """The open ones."""
    allowances: Mapping[int, Allowance] = field(default_factory=dict)
    """What agents may always do, by the ask that was answered so."""
    blockers: Mapping[int, Blocker] = field(default_factory=dict)
    """What blocks tasks now, answered ones included."""
    trackers: tuple[TrackerStanding, ...] = ()
    """The trackers of the tasks' issues, once they were asked."""
    elsewhere: Mapping[int, None] = field(default_factory=dict)
    """Tasks that were completed elsewhere while a turn of theirs was queued or at work."""
    issue_moves: Mapping[int, IssueMove] = field(default_factory=dict)
    """By task."""
    pulses: Mapping[int, Pulse] = field(default_factory=dict)
    """By turn, for those that run."""
    cooldowns: Mapping[str, Cooldown] = field(default_factory=dict)
    """By account, for those that are used up."""
    budgets: Mapping[str, Spending] = field(default_factory=dict)
    """By `batch:NAME` (tokens) and `batch:NAME/money`."""
    spent: Mapping[str, Spent] = field(default_factory=dict)
    """By `batch:NAME` and `agent:NAME`, kept by the writer and never recounted."""
    items: Mapping[str, ItemsStanding] = field(default_factory=dict)
    """By batch, for those with a foreach."""
    draining: bool = False
    max_parallel_cap: int = DEFAULT_GLOBAL_CAP
    parallelism_limit_cap: int = DEFAULT_AGENT_CAP
    violations: tuple[str, ...] = ()
    """Invariants that the auditor found broken when it last looked, in words."""
    banner: str | None = None
    """What the operator should know at once, such as what was found after an unclean stop."""
