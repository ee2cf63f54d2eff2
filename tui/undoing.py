"""What takes a change back: nothing that has had an effect outside."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from batchdeck.core.commands import (
    BlockTask,
    Command,
    Drain,
    EditTurn,
    MoveTurn,
    OnBusy,
    PutHold,
    Receipt,
    ReleaseHold,
    RetryTask,
    Send,
    SetLimit,
    SetStatus,
    StopTurn,
)
from batchdeck.core.model.blocker import BlockerState
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import DECIDES_TASK, Trigger, Turn, TurnState
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.rules.reordering import Where
from batchdeck.core.rules.standing import limit_names
from batchdeck.core.view import DeckView
from batchdeck.tui.present.limit_change import limit_name_words
from batchdeck.tui.present.limits import number

_MOST = 20


@dataclass(frozen=True, slots=True)
class Undo:
    """Commands that take a change back, and what is then said."""

    commands: tuple[Command, ...]
    words: str
    ours: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    """The numbers of limits before the change and after it, by name."""
    raised: frozenset[str] = frozenset()
    """The limits that were raised."""
    ran: frozenset[int] = frozenset()
    """The turns that ran before the change."""

    def words_now(self, view: DeckView) -> str:
        """Its words, and what of the change's effect stays."""
        live = [view.turns[turn] for turn in view.live if turn not in self.ran]
        stays = any(not self.raised.isdisjoint(limit_names(turn)) for turn in live)
        return f"{self.words}; what has started since runs on" if stays else self.words

    def overtaken(self, now: Callable[[str], int | None]) -> str | None:
        """The limit that has another number by now, so that it is not ours to take back."""
        return next((name for name, ours in self.ours.items() if now(name) not in ours), None)


class UndoStack:
    """The latest changes that can be taken back, the last one first."""

    def __init__(self) -> None:
        self._entries: deque[Undo] = deque(maxlen=_MOST)

    def note(self, undos: Sequence[Undo]) -> None:
        """One change, made by one command or by many at once."""
        if not undos:
            return
        # the last one done is the first taken back
        commands = [command for undo in reversed(undos) for command in undo.commands]
        words = undos[0].words if len(undos) == 1 else f"{undos[0].words} and {len(undos) - 1} more"
        ours = {name: numbers for undo in undos for name, numbers in undo.ours.items()}
        raised = frozenset(name for undo in undos for name in undo.raised)
        ran = frozenset(turn for undo in undos for turn in undo.ran)
        self._entries.append(Undo(tuple(commands), words, ours, raised, ran))

    def pop(self) -> Undo | None:
        return self._entries.pop() if self._entries else None


def needs_text(command: Command, view: DeckView) -> Turn | None:
    """The turn whose text has to be known, before a command is sent, to take it back."""
    if not isinstance(command, StopTurn | EditTurn):
        return None
    turn = view.turns.get(command.turn)
    return turn if turn is not None and turn.state is TurnState.QUEUED else None


def undo_of(
    command: Command, view: DeckView, text: str | None = None, receipt: Receipt | None = None
) -> Undo | None:
    """What takes a command back; None: nothing does.

    Args:
        view: The deck before the command, as far as it was known here.
        text: See `needs_text`.
        receipt: The answer to the command, which knows better what was there before.
    """
    match command:
        case SetLimit():
            return _limit(command, view, receipt)
        case MoveTurn():
            return _move(command, view)
        case PutHold():
            return Undo((ReleaseHold(what=command.what),), f"{_held(command.what)} is released")
        case ReleaseHold():
            return _hold_again(command, view)
        case Drain():
            words = "the deck admits turns again" if command.on else "the deck drains again"
            return Undo((Drain(on=not command.on),), words)
        case EditTurn() if text:
            return Undo((EditTurn(turn=command.turn, text=text),), f"#{command.turn} as it read")
        case StopTurn():
            return _send_again(command, view, text)
    return None


def _limit(command: SetLimit, view: DeckView, receipt: Receipt | None) -> Undo:
    stored = view.limits.get(command.name)
    in_force = effective_limit(view, command.name)
    value = in_force if stored is None else stored.value
    explicit = stored is not None and stored.explicit
    if receipt is not None and receipt.before != in_force:
        # somebody, or a change before this one, was faster than the view
        value, explicit = receipt.before, True
    words = f"{limit_name_words(command.name)} is {number(value)} again"
    raised = command.value is None or (value is not None and command.value > value)
    back = SetLimit(name=command.name, value=value, origin="undo", explicit=explicit)
    return Undo(
        (back,),
        words,
        {command.name: (value, command.value)},
        frozenset({command.name} if raised else ()),
        frozenset(view.live),
    )


def _move(command: MoveTurn, view: DeckView) -> Undo | None:
    turn = view.turns.get(command.turn)
    if turn is None:
        return None
    queue = sorted(
        (t.service_key for t in view.turns.values() if _waits_with(t, turn)),
    )
    behind = [key[2] for key in queue if key > turn.service_key]
    if behind:
        back = MoveTurn(turn=turn.id, where=Where.BEFORE, anchor=behind[0])
    else:
        back = MoveTurn(turn=turn.id, where=Where.LAST)
    return Undo((back,), f"#{turn.id} is back at its place")


def _waits_with(other: Turn, turn: Turn) -> bool:
    return other.state is TurnState.QUEUED and other.agent == turn.agent


def _hold_again(command: ReleaseHold, view: DeckView) -> Undo | None:
    hold = next((h for h in view.holds.values() if command.what in (h.what, h.named)), None)
    if hold is None and command.what.startswith(("account:", "budget:", "folder:")):
        return None  # a hold would be something else
    reason = "" if hold is None else hold.reason
    return Undo(
        (PutHold(what=command.what, reason=reason),), f"{_held(command.what)} is held again"
    )


def _held(what: str) -> str:
    return "the deck" if what == "deck" else what.replace("turn:", "#").replace(":", " ", 1)


def _send_again(command: StopTurn, view: DeckView, text: str | None) -> Undo | None:
    turn = view.turns.get(command.turn)
    if turn is None or turn.state is not TurnState.QUEUED:
        return None  # what ran has had its effect
    task = None if turn.task is None else view.tasks.get(turn.task)
    if task is not None and turn.trigger in DECIDES_TASK:
        return _task_again(task, turn, view)
    if not text:
        return None
    again = Send(
        to=f"c{turn.conversation}",
        text=text,
        on_busy=OnBusy.QUEUE,
        target=turn.target,
        priority=turn.priority,
        held=turn.held_by is not None,
        unauthorised=not turn.authorised,
    )
    words = f"the message of #{turn.id} is sent again, at the end{_held_words(turn)}"
    return Undo((again,), words)


def _task_again(task: Task, turn: Turn, view: DeckView) -> Undo:
    """A cancelled task is what it was, and so is what failed with it."""
    if turn.trigger is Trigger.ANSWER:
        retry = RetryTask(task=task.name, held=_waits_for_a_word(turn))
        words = f"{task.key} is tried again, from its beginning{_held_words(turn)}"
        return Undo((retry,), words)
    again = RetryTask(task=task.name, held=_waits_for_a_word(turn), status=task.status)
    with_it = [one for other in _dependants(task, view) for one in _status_again(other, view)]
    blocks = _blocks_again(task, view)
    words = f"{task.key} is queued again{_held_words(turn)}"
    return Undo((again, *blocks, *with_it), words)


def _dependants(task: Task, view: DeckView) -> list[Task]:
    """Those that fail with a task, in the order in which they come back."""
    found: dict[int, Task] = {}
    needed = {task.id}
    others = [other for other in view.tasks.values() if other.batch == task.batch]
    while fresh := [o for o in others if o.id not in found and not needed.isdisjoint(o.depends_on)]:
        found |= {other.id: other for other in fresh}
        needed = {other.id for other in fresh}
    return list(found.values())


def _status_again(task: Task, view: DeckView) -> tuple[Command, ...]:
    """Of one that comes back READY, and was something else."""
    if task.status is Status.BACKLOG:
        return (SetStatus(task=task.name, status=Status.BACKLOG),)
    return _blocks_again(task, view)


def _blocks_again(task: Task, view: DeckView) -> tuple[Command, ...]:
    if task.status is not Status.BLOCKED:
        return ()
    return tuple(
        BlockTask(task=task.name, question=blocker.question)
        for blocker in view.blockers.values()
        if blocker.task == task.id and blocker.state is BlockerState.OPEN
    )


def _waits_for_a_word(turn: Turn) -> bool:
    return turn.held_by is not None or not turn.authorised


def _held_words(turn: Turn) -> str:
    return ", and held as it was" if _waits_for_a_word(turn) else ""
