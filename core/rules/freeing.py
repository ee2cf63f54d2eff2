"""What would be free if a turn ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from batchdeck.core.model.gate import Gate, Holder
from batchdeck.core.model.line import lines_of
from batchdeck.core.model.turn import LIVE, Turn
from batchdeck.core.rules.consequences import with_lines
from batchdeck.core.rules.gates import evaluate, shut
from batchdeck.core.rules.standing import limit_names
from batchdeck.core.view import DeckView


def without(view: DeckView, ended: Collection[int]) -> DeckView:
    """The view as it would be if these running or waiting turns had ended."""
    gone = [view.turns[turn] for turn in ended]
    running_by = dict(view.running_by)
    for turn in gone:
        if turn.state in LIVE:
            for name in limit_names(turn):
                running_by[name] = running_by.get(name, 0) - 1
    lines = {line for turn in gone for line in lines_of(turn)}
    in_order = {
        line: tuple(turn for turn in members if line not in lines or turn not in ended)
        for line, members in view.in_order.items()
    }
    return replace(
        view,
        running=view.running - sum(turn.state in LIVE for turn in gone),
        running_by=running_by,
        live=tuple(turn for turn in view.live if turn not in ended),
        waiting_turns=tuple(turn for turn in view.waiting_turns if turn not in ended),
        in_order=in_order,
        cooldowns={
            account: cooldown
            for account, cooldown in view.cooldowns.items()
            if cooldown.probe not in ended
        },
    )


def frees_alone(turn: Turn, view: DeckView, gates: Iterable[Gate], now_ms: int) -> Holder | None:
    """The first holder of `gates` whose end alone would open all of them; None: there is none.

    Args:
        turn: A queued turn, or a message that is not stored yet.
        gates: The shut ones.
    """
    holders = {holder.turn: holder for gate in gates for holder in gate.holders}
    for holder in holders.values():
        if holder.turn not in view.turns or view.turns[holder.turn].started_ms is None:
            continue  # one that is only queued ends when it has run
        if is_freed_by(turn, view, holder.turn, now_ms):
            return holder
    return None


def is_freed_by(turn: Turn, view: DeckView, ended: int, now_ms: int) -> bool:
    """Whether a queued turn, or a message, could start if that running turn ended."""
    known = view if turn.id in view.turns else with_lines(view, turn)
    return not shut(evaluate(turn, without(known, {ended}), now_ms))
