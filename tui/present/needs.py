"""What needs the operator: questions, permissions, lost turns, faults and holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.blocker import is_open
from batchdeck.core.model.hold import OURSELVES
from batchdeck.core.model.line import conversation_line
from batchdeck.core.model.turn import DECIDES_TASK, Turn, TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.present.budgets import batch_of, is_up, reached_words
from batchdeck.tui.present.happenings import moment
from batchdeck.tui.present.kept_turns import KeptTurns

_MOST_NAMED = 3
MOST_HELD = 50
"""Turns held by a person that are listed one by one."""


class NeedKind(StrEnum):
    FAULT = "fault"
    ASK = "ask"
    BLOCKER = "blocker"
    LOST = "lost"
    HOLD = "hold"
    COOLDOWN = "cooldown"
    BUDGET = "budget"
    NOTE = "note"
    """What stands below the headline, which may have no room for all of it."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that waits for a person."""

    kind: NeedKind
    key: str
    """Stays the same while the need lasts."""
    words: str
    since_ms: int
    turn: int | None = None
    ask: int | None = None
    hold: str | None = None
    """What a release is to name."""
    blocker: int | None = None
    urgent: bool = True
    """False: a hold that a person put and knows of."""


class Needs:
    """What needs a person, from view to view: to look through all turns takes a while."""

    def __init__(self) -> None:
        self._lost = KeptTurns(lambda turn: turn.state is TurnState.LOST)
        self._held = KeptTurns(_is_held)
        self._view: DeckView | None = None
        self._found: tuple[Need, ...] = ()

    def of(self, view: DeckView) -> tuple[Need, ...]:
        """The urgent first, then the oldest first; several parts of one screen ask for it."""
        if view is not self._view:
            self._view, self._found = view, self._look(view)
        return self._found

    def _look(self, view: DeckView) -> tuple[Need, ...]:
        lost = [view.turns[turn] for turn in sorted(self._lost.of(view))]
        held = [view.turns[turn] for turn in sorted(self._held.of(view))]
        found = [*_faults(view), *_asks(view), *_blockers(view), *_lost(lost, view)]
        found += [*_holds(view), *_cooldowns(view), *_budgets(view), *_notes(view)]
        oldest_first = sorted(found, key=_order)
        urgent, known = _held_turns(held, view)
        first_known = sum(need.urgent for need in oldest_first)
        oldest_first[first_known:first_known] = urgent
        return (*oldest_first, *known)


def needs(view: DeckView) -> tuple[Need, ...]:
    """The same of one view alone, which costs a walk over all turns."""
    return Needs().of(view)


def _order(need: Need) -> tuple[bool, int, int, str]:
    return not need.urgent, need.since_ms, need.turn or 0, need.key


def urgent_count(found: Iterable[Need]) -> int:
    return sum(need.urgent for need in found)


def _faults(view: DeckView) -> list[Need]:
    found = [] if view.fault is None else [Need(NeedKind.FAULT, "fault", view.fault, 0)]
    broken = (f"audit: {words}" for words in view.violations)
    return found + [Need(NeedKind.FAULT, words, words, 0) for words in broken]


def _notes(view: DeckView) -> list[Need]:
    return [Need(NeedKind.NOTE, "note", view.banner, 0, urgent=False)] if view.banner else []


def _asks(view: DeckView) -> list[Need]:
    return [
        Need(NeedKind.ASK, f"ask:{ask.id}", ask.headline, ask.opened_ms, ask.turn, ask.id)
        for ask in view.asks.values()
    ]


def _blockers(view: DeckView) -> list[Need]:
    """What people have asked; an agent's own question is there as such."""
    return [
        Need(
            NeedKind.BLOCKER,
            f"blocker:{blocker.id}",
            f"{view.tasks[blocker.task].key}: {blocker.question}",
            blocker.opened_ms,
            turn=view.tasks[blocker.task].turn,
            blocker=blocker.id,
        )
        for blocker in view.blockers.values()
        if is_open(blocker) and blocker.ask is None and blocker.task in view.tasks
    ]


def _lost(lost: Iterable[Turn], view: DeckView) -> list[Need]:
    asking = {ask.turn for ask in view.asks.values()}
    return [
        Need(NeedKind.LOST, f"turn:{turn.id}", turn.error or "lost", turn.ended_ms or 0, turn.id)
        for turn in lost
        # one that asks is there as its question
        if turn.id not in asking and _is_latest(turn, view)
    ]


def _is_latest(turn: Turn, view: DeckView) -> bool:
    """A lost turn whose task has had another one since needs nobody any more."""
    task = None if turn.task is None else view.tasks.get(turn.task)
    return task is None or task.turn is None or task.turn == turn.id


def _holds(view: DeckView) -> list[Need]:
    return [
        Need(
            NeedKind.HOLD,
            f"hold:{hold.what}",
            _hold_words(hold.by, hold.reason),
            hold.at_ms,
            turn=_held_turn(hold.what),
            hold=hold.named,
            # a person who held something knows
            urgent=hold.by == OURSELVES,
        )
        for hold in view.holds.values()
    ]


def _is_held(turn: Turn) -> bool:
    return turn.state is TurnState.QUEUED and (turn.held_by is not None or not turn.authorised)


def _held_turns(held: Sequence[Turn], view: DeckView) -> tuple[list[Need], list[Need]]:
    """The queued turns that are held one by one: those that no person has held, or that keep a
    message waiting, and the others.

    Since when is not known of them, so they stand in the order of their ids.
    """
    needed = [turn for turn in held if _is_unknown_to_all(turn) or _messages_behind(turn, view)]
    ids = {turn.id for turn in needed}
    known = [turn for turn in held if turn.id not in ids]
    shown = [_held_turn_need(turn, view, urgent=False) for turn in known[:MOST_HELD]]
    if len(known) > MOST_HELD:
        words = f"{len(known) - MOST_HELD:,} more turns are held (Q shows them)"
        shown.append(Need(NeedKind.HOLD, "held:more", words, 0, urgent=False))
    return [_held_turn_need(turn, view, urgent=True) for turn in needed], shown


def _is_unknown_to_all(turn: Turn) -> bool:
    """Whether nobody who holds it knows of it: the deck does, or whoever sent it had to ask."""
    by = turn.held_by
    return not turn.authorised if by is None else by == OURSELVES or by.startswith(f"{OURSELVES} (")


def _messages_behind(turn: Turn, view: DeckView) -> list[int]:
    """Messages in its conversation that are not held, and wait for it; so does what was stopped."""
    members = view.in_order.get(conversation_line(turn.conversation), ())
    behind = members[members.index(turn.id) + 1 :] if turn.id in members else ()
    return [
        other.id
        for other in map(view.turns.__getitem__, behind)
        if other.state is TurnState.QUEUED
        and other.trigger not in DECIDES_TASK
        and not _is_held(other)
    ]


def _held_turn_need(turn: Turn, view: DeckView, urgent: bool) -> Need:
    words = f"held by {turn.held_by}" if turn.held_by else "not authorised yet: release starts it"
    behind = _messages_behind(turn, view)
    if behind:
        named = ", ".join(f"#{message}" for message in behind[:_MOST_NAMED])
        more = f" and {len(behind) - _MOST_NAMED} more" if len(behind) > _MOST_NAMED else ""
        words += f"; {named}{more} wait{'s' * (len(behind) == 1)} for it"
    key = f"hold:turn:{turn.id}"
    return Need(NeedKind.HOLD, key, words, 0, turn.id, hold=f"#{turn.id}", urgent=urgent)


def _budgets(view: DeckView) -> list[Need]:
    """Those that are used up; a soft one only says so."""
    return [
        Need(
            NeedKind.BUDGET,
            f"budget:{name}",
            reached_words(view, name),
            0,
            hold=f"budget:{batch_of(name)}",
            urgent=spending.hard,
        )
        for name, spending in view.budgets.items()
        if is_up(spending) and _at_work(view, batch_of(name))
    ]


def _at_work(view: DeckView, batch: str) -> bool:
    found = view.batches.get(batch)
    return found is not None and found.state is BatchState.RUNNING


def _cooldowns(view: DeckView) -> list[Need]:
    """They end by themselves: a person need not, but can."""
    return [
        Need(
            NeedKind.COOLDOWN,
            f"cooldown:{cooldown.account}",
            f"again at {moment(cooldown.until_ms, view.at_ms)}: {cooldown.reason}",
            cooldown.since_ms,
            hold=f"account:{cooldown.account}",
            urgent=False,
        )
        for cooldown in view.cooldowns.values()
    ]


def _hold_words(by: str, reason: str) -> str:
    return f"held by {by}" + (f": {reason}" if reason else "")


def _held_turn(what: str) -> int | None:
    kind, _, name = what.partition(":")
    return int(name) if kind == "turn" and name.isdigit() else None
