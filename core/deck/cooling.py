"""Accounts that are used up: closed for all their agents, tried by one turn, opened again."""

from __future__ import annotations

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.deck.closing import close_slots
from batchdeck.core.deck.work import Work
from batchdeck.core.model.account import Cooldown, UsageLimit, account_of
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.turn import AttemptEnd, Turn, TurnState
from batchdeck.core.rules.cooling import resets_ms, tried_by

_SAYS_NOTHING = frozenset({TurnState.QUEUED, TurnState.LOST, TurnState.CANCELLED})


def cool_down(work: Work, turn: Turn, limit: UsageLimit) -> None:
    """A turn has found its account used up.

    Turns that were already at work when the account was closed tell of the same pause again.
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
    work.note_account(account)
    work.emit("account.ready", by=by, account=account)


def _keep(work: Work, cooldown: Cooldown) -> None:
    work.state.cooldowns[cooldown.account] = cooldown
    work.note_account(cooldown.account)
