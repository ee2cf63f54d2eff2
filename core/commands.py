"""What may be asked of a deck, as values with an id.

A repeat of one that was carried out is answered as the first was, also by a later supervisor.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from batchdeck.core.model.agent import Agent
from batchdeck.core.model.gate import Gate, GateName
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.reordering import Where


def new_id() -> str:
    return uuid.uuid4().hex


class OnBusy(StrEnum):
    """What becomes of a message when a gate is shut; None in a command: ask."""

    QUEUE = "queue"
    FORCE = "force"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Something that changes a deck. `by` is who asked, as the screen names them."""

    id: str = field(default_factory=new_id)
    by: str = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddBatch(Command):
    """Adds a batch, or takes the one of the same name up again."""

    spec: BatchSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeBatch(Command):
    """Dispatches what is unfinished; `batch` None: of every batch."""

    batch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherReady(Command):
    """Makes one new batch of all READY tasks that are in no active batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLimit(Command):
    """Changes one limit; `value` None: none of its own."""

    name: str
    value: int | None
    origin: str = "command"
    explicit: bool = True
    """See `Limit.explicit`; what takes a change back puts back what it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Send(Command):
    """A message to an agent, a conversation or a task's conversation.

    `to` is an agent's name, `c12`, a task's key or `BATCH/TASK`. With `passing`, a forced message
    goes only if the shut gates are still among these (what the prompt showed).
    """

    to: str
    text: str
    on_busy: OnBusy | None = None
    passing: frozenset[GateName] | None = None
    front: bool = False
    """With `queue`: before the other queued messages of that agent (*next in queue*)."""
    replacing: int | None = None
    """The running turn that is all that stands in the way: it is stopped, and this goes next."""
    target: str | None = None
    delivery_id: str | None = None
    unauthorised: bool = False
    held: bool = False
    """It is queued, and held from the beginning."""
    priority: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTurn(Command):
    """Ends a running turn, or cancels a queued one; `only_queued` leaves what runs alone."""

    turn: int
    only_queued: bool = False
    for_good: bool = False
    """Its task has failed with it; else one that was at work is READY again, and held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutHold(Command):
    """Stops admissions for `deck`, `batch:NAME`, `agent:NAME`, `account:NAME`, `folder:PATH` or
    `turn:ID`."""

    what: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHold(Command):
    """Takes a hold away; for a turn, authorises it too; ends the cooldown of an account."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain(Command):
    """Admits nothing new (`on`), or admits again."""

    on: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryTask(Command):
    """A new turn for a task that has failed or was stopped; counting starts anew."""

    task: str
    held: bool = False
    """The turn is held from the beginning; what takes a deletion back puts back what was held."""
    status: Status | None = None
    """Of a task that was cancelled in the queue: what it was before, to be that again, as is what
    failed only because of it; nothing is counted anew. None: it is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStatus(Command):
    """A person sets a task's status, by a legal move."""

    task: str
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAsk(Command):
    """Answers an open ask."""

    ask: int
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeAllowance(Command):
    """Takes back what an agent may always do; it asks again."""

    allowance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTask(Command):
    """Keeps a task from starting until a question about it is answered."""

    task: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBlocker(Command):
    """Answers what blocks a task; `blocker` None: the only one that is open.

    `answer` None: it is resolved, without an answer.
    """

    task: str
    answer: str | None = None
    blocker: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconcile(Command):
    """Looks at once whether the world outside has changed, and answers when that is dealt with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTask(Command):
    """Adds one task; `batch` None: to the inbox."""

    task: TaskSpec
    batch: str | None = None
    delivery_id: str | None = None
    unauthorised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAgent(Command):
    """Takes an agent's definition away; refused while anything of it is unfinished."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefineAgent(Command):
    """Adds or changes an agent of the deck; `create` refuses one that exists, and the reverse."""

    agent: Agent
    create: bool = True
    unless_in_use: bool = False
    """Refused where an active batch uses it under another definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefineFolders(Command):
    """Names of folders and their absolute paths, all there are: a name that is not among them any
    more is deleted, and the queued turns of it fall back."""

    folders: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveTurn(Command):
    """Puts a queued turn elsewhere among its agent's; `anchor` with `before` and `after`."""

    turn: int
    where: Where
    anchor: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditTurn(Command):
    """Gives a queued turn another text."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTurns(Command):
    """Makes one queued message of several."""

    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetargetTurn(Command):
    """Gives a queued turn to another agent."""

    turn: int
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SendNow(Command):
    """Starts a queued turn past the shut capacity gates; `passing` as in `Send`."""

    turn: int
    passing: frozenset[GateName] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAll(Command):
    """Ends every running turn; nothing new starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer to a command, given once its effect is on disk."""

    accepted: bool
    error: str | None = None
    """The stable name (`busy`, `not_found` …); None where accepted."""
    message: str = ""
    """One line for a person."""
    exit_code: int = 0
    gates: tuple[Gate, ...] = ()
    turn: int | None = None
    conversation: int | None = None
    state: TurnState | None = None
    position: int | None = None
    bypassed: tuple[str, ...] = ()
    batch: str | None = None
    before: int | None = None
    """With a limit: the number before."""
