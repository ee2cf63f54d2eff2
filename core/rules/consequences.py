"""What would follow from a message or a force, before anything is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from batchdeck.core.model.gate import Gate, Holder
from batchdeck.core.model.line import conversation_line, target_line
from batchdeck.core.model.turn import MESSAGE_PRIORITY, Trigger, Turn, TurnState
from batchdeck.core.rules.gates import evaluate, passable, shut
from batchdeck.core.rules.order import place
from batchdeck.core.view import DeckView

_LAST = 2**62
"""Position and id of a turn that is not stored yet: behind all others."""


@dataclass(frozen=True, slots=True)
class BusyAnswer:
    """What stands in a message's way, and what could be done about it."""

    gates: tuple[Gate, ...]
    """The shut ones; none: it would start at once."""
    position: int
    """The place among the agent's queued turns that it would get."""
    behind: int
    """Queued turns of the agent that would come after it."""
    holders: tuple[Holder, ...]
    passable: bool
    """It can be forced past every shut gate."""

    @property
    def free(self) -> bool:
        return not self.gates


def message_turn(
    view: DeckView,
    agent: str,
    conversation: int | None = None,
    task: int | None = None,
    priority: int = MESSAGE_PRIORITY,
    target: str | None = None,
    latest: Turn | None = None,
) -> Turn:
    """The turn that a message would become, as if it were the last one received.

    `latest`: the conversation's latest turn, where the view has none of it any more.
    """
    latest = _latest_of(view, conversation) or latest
    owner = None if task is None else view.tasks.get(task)
    return Turn(
        id=_LAST,
        agent=agent,
        conversation=-1 if conversation is None else conversation,
        trigger=Trigger.CHAT if latest is None else Trigger.REPLY,
        position=_LAST,
        priority=priority,
        task=task,
        batch=None if owner is None else owner.batch,
        lane=None if owner is None else owner.status,
        folder=None if latest is None else latest.folder,
        target=target,
    )


def _latest_of(view: DeckView, conversation: int | None) -> Turn | None:
    if conversation is None:
        return None
    latest = None
    for turn in view.turns.values():
        if turn.conversation == conversation:
            latest = turn
    return latest


def would_wait(view: DeckView, turn: Turn, now_ms: int) -> BusyAnswer:
    """What a message (see `message_turn`) would wait for if it were sent now."""
    return answer_for(with_lines(view, turn), turn, now_ms)


def front_priority(turns: Iterable[Turn], agent: str, at_least: int) -> int:
    """One more than any queued turn of the agent has."""
    queued = (
        turn.priority for turn in turns if turn.state is TurnState.QUEUED and turn.agent == agent
    )
    return max(at_least, 1 + max(queued, default=at_least - 1))


def place_in_front(view: DeckView, turn: Turn) -> int:
    """The 1-based place that a message would get if it were to go next."""
    priority = front_priority(view.turns.values(), turn.agent, turn.priority)
    return place(replace(turn, priority=priority), with_lines(view, turn))


def answer_for(view: DeckView, turn: Turn, now_ms: int) -> BusyAnswer:
    """What stands in the way of a turn, queued or not yet stored."""
    gates = shut(evaluate(turn, view, now_ms))
    queued = sum(
        1
        for other in view.turns.values()
        if other.state is TurnState.QUEUED and other.agent == turn.agent
    )
    position = place(turn, view)
    seen: dict[int, Holder] = {}
    for gate in gates:
        for holder in gate.holders:
            seen.setdefault(holder.turn, holder)
    return BusyAnswer(
        gates=gates,
        position=position,
        behind=queued - position + 1,
        holders=tuple(seen.values()),
        passable=bool(gates) and passable(gates),
    )


def with_lines(view: DeckView, turn: Turn) -> DeckView:
    """The view with all turns of the message's target and conversation in order.

    A view keeps only those with more than one member; the message would be one more.
    """
    fields = {conversation_line(turn.conversation): "conversation"}
    if turn.target is not None:
        fields[target_line(turn.target)] = "target"
    in_order = dict(view.in_order)
    for line, field in fields.items():
        wanted = getattr(turn, field)
        members = [
            other
            for other in view.turns.values()
            if getattr(other, field) == wanted and other.ended_ms is None
        ]
        members.sort(key=lambda other: (other.position, other.id))
        in_order[line] = tuple(other.id for other in members)
    return replace(view, in_order=in_order)
