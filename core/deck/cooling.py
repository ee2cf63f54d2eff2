"""Accounts that are used up: closed for all their agents, tried by one turn, opened again."""

from __future__ import annotations

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.deck.closing import close_slots
from batchdeck.core.deck.work import Work
from batchdeck.core.model.account import Cooldown, UsageLimit, account_of
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.turn import AttemptEnd, Turn, TurnState
from batchdeck.core.rules.cooling import resets_ms, tried_by

MOST_REFUSALS = 8
"""Tries of an account in a row by one turn, after which it is the turn that has failed.

By then some one and a half hours have gone by without a word of when the account resets.
"""
_NAMED_SECONDS = 600.0
"""A pause that is at least so long was named because an account is really used up."""
_SAYS_NOTHING = frozenset({TurnState.QUEUED, TurnState.LOST, TurnState.CANCELLED})


def cool_down(work: Work, turn: Turn, limit: UsageLimit) -> bool:
    """A turn has found its account used up; whether it is to try again.

    Turns that were already at work when the account was closed tell of the same pause again. One
    that has tried it alone time after time, and was never told of a reset, is refused for something
    of its own that only sounds like it.
    """
    account = account_of(work.state.agents[turn.agent])
    before = work.state.cooldowns.get(account)
    tried = before is not None and before.probe == turn.id
    windows = 1 if before is None else before.windows + tried
    until_ms = resets_ms(limit, work.now_ms, windows)
    if before is not None and not tried:
        until_ms = max(until_ms, before.until_ms)
    since_ms = work.now_ms if before is None else before.since_ms
    _keep(work, Cooldown(account, until_ms, since_ms, limit.words, windows))
    if before is None or until_ms != before.until_ms:
        work.emit("account.cooling", turn, account=account, until_ms=until_ms, reason=limit.words)
    return not tried or _refusals(work, account, turn, limit) < MOST_REFUSALS


def _refusals(work: Work, account: str, turn: Turn, limit: UsageLimit) -> int:
    """How often in a row this turn has tried the account for nothing, without a named reset."""
    named = limit.at_ms is not None or limit.time_of_day is not None
    if named or (limit.after_seconds or 0.0) >= _NAMED_SECONDS:
        work.state.refused.pop(account, None)
        return 0
    who, times = work.state.refused.get(account, (turn.id, 0))
    times = times + 1 if who == turn.id else 1
    work.state.refused[account] = (turn.id, times)
    return times


def note_attempt(work: Work, turn: Turn) -> None:
    """A turn begins: where its account cools down, it is the one that tries it."""
    cooldown = work.state.cooldowns.get(account_of(work.state.agents[turn.agent]))
    if cooldown is None:
        return
    if tried_by(cooldown, work.state.turns) is None:
        _keep(work, evolve(cooldown, probe=turn.id))
    close_slots(work.state, work.scheduler, work.now_ms)


def note_end(work: Work, turn: Turn, outcome: Outcome) -> None:
    """The turn that tried an account has ended by itself, and not for want of usage."""
    agent = work.state.agents.get(turn.agent)
    cooldown = None if agent is None else work.state.cooldowns.get(account_of(agent))
    if cooldown is None or cooldown.probe != turn.id or outcome.limited is not None:
        return
    by_itself = outcome.end is AttemptEnd.EXITED and outcome.surroundings is None
    if by_itself and outcome.state not in _SAYS_NOTHING:
        end_cooldown(work, cooldown.account)


def end_cooldown(work: Work, account: str, by: str | None = None) -> None:
    """The account may be used again, because it answers or because a person says so."""
    del work.state.cooldowns[account]
    work.state.refused.pop(account, None)
    work.note_account(account)
    work.emit("account.ready", by=by, account=account)


def _keep(work: Work, cooldown: Cooldown) -> None:
    work.state.cooldowns[cooldown.account] = cooldown
    work.note_account(cooldown.account)
