"""Permissions that agents want while they work: asked for, answered once, kept, taken back."""

from __future__ import annotations

from functools import partial

from batchdeck.core.agents.asking import Reply
from batchdeck.core.commands import Receipt, RevokeAllowance
from batchdeck.core.deck.letters import Wants
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import NoSupervisor, NotFound
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.permission import Allowance, Decision
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.store import changes as sql


def wants(work: Work, letter: Wants, *, nobody: bool) -> None:
    """A live agent wants a permission: it has it already, or somebody is asked.

    `nobody`: no person is there. Of a turn that does not run any more nobody is asked either.
    """
    turn, permission = work.state.turns.get(letter.turn), letter.permission
    if turn is None or turn.attempt != letter.attempt or turn.state is not TurnState.RUNNING:
        _reply(work, letter.reply, Decision.CANCELLED)
        return
    allowance = _allowance_for(work, turn.agent, permission.scope)
    if allowance is not None:
        work.emit("permission.used", turn, permission=str(allowance.id), wanted=permission.title)
        _reply(work, letter.reply, Decision.ALLOW_ALWAYS)
        return
    if nobody:
        _reply(work, letter.reply, Decision.UNANSWERED)
        return
    ask = Ask(
        id=work.state.next.ask,
        turn=turn.id,
        question=permission.question,
        choices=permission.choices,
        alive=True,
        scope=permission.scope,
        covers=permission.covers,
        opened_ms=work.now_ms,
    )
    work.state.next.ask += 1
    work.put_ask(ask, is_open=True)
    work.after.append(partial(work.state.replies.__setitem__, ask.id, letter.reply))
    work.emit(
        "ask.opened",
        turn,
        ask=str(ask.id),
        question=ask.question,
        choices=ask.choices,
        permission=True,
        covers=ask.covers,
    )


def answer_live(work: Work, ask: Ask, turn: Turn, words: str, by: str) -> Receipt:
    """A person's word about a permission: told to the agent once it is on disk; the turn goes on.

    *Allow always* answers the agent's other open requests of that scope too.

    Raises:
        NoSupervisor: no agent waits for it: it ended with its supervisor, and so did what it asked.
    """
    if ask.id not in work.state.replies:
        raise NoSupervisor(f"No agent waits for an answer to ask {ask.id} any more.")
    decision = Decision(words)
    alike = [ask]
    if decision is Decision.ALLOW_ALWAYS:
        _allow_always(work, ask, turn.agent, by)
        alike += [
            other
            for other in work.state.asks.values()
            if other.id != ask.id
            and other.scope == ask.scope
            and other.alive
            and work.state.turns[other.turn].agent == turn.agent
        ]
    for one in alike:
        _settle(work, one, AskState.ANSWERED, decision, by)
        asking = work.state.turns[one.turn]
        work.emit("ask.answered", asking, by=by, ask=str(one.id), answer=words)
    message = f"{words}: #{turn.id} goes on"
    return Receipt(accepted=True, turn=turn.id, state=turn.state, message=message)


def close_live(work: Work, turn: Turn) -> None:
    """Nobody waits any more for what a turn's agent wanted: the turn is stopped, or has ended."""
    for ask in [one for one in work.state.asks.values() if one.alive and one.turn == turn.id]:
        _settle(work, ask, AskState.CANCELLED, Decision.CANCELLED, None)
        work.emit("ask.cancelled", turn, ask=str(ask.id))


def revoke(work: Work, command: RevokeAllowance) -> Receipt:
    """A person takes back what an agent might always do.

    Raises:
        NotFound: there is no such allowance.
    """
    allowance = work.state.allowances.get(command.allowance)
    if allowance is None:
        raise NotFound(f"There is no allowance {command.allowance}.")
    _drop(work, allowance)
    work.emit(
        "permission.revoked",
        agent=allowance.agent,
        by=command.by,
        permission=str(allowance.id),
        covers=allowance.covers,
    )
    message = f"{allowance.agent} asks again before it does this: {allowance.covers}"
    return Receipt(accepted=True, message=message)


def forget_allowances(work: Work, agent: str) -> None:
    """An agent is not what it was: what the one before might do says nothing of it."""
    for allowance in [one for one in work.state.allowances.values() if one.agent == agent]:
        _drop(work, allowance)


def is_another_program(one: Agent, other: Agent) -> bool:
    """Whether what one might do says nothing about the other."""
    return (one.kind, one.command, one.folder) != (other.kind, other.command, other.folder)


def _allowance_for(work: Work, agent: str, scope: str) -> Allowance | None:
    kept = work.state.allowances.values()
    return next((one for one in kept if (one.agent, one.scope) == (agent, scope)), None)


def _allow_always(work: Work, ask: Ask, agent: str, by: str) -> None:
    assert ask.scope is not None
    if _allowance_for(work, agent, ask.scope) is not None:
        return
    allowance = Allowance(ask.id, agent, ask.scope, ask.covers, by, work.now_ms)
    work.state.allowances[allowance.id] = allowance
    work.state.touch("allowances")
    work.changes.add(
        sql.SAVE_ALLOWANCE,
        (allowance.id, agent, allowance.scope, allowance.covers, by, work.now_ms),
    )
    work.emit(
        "permission.kept", agent=agent, by=by, permission=str(ask.id), covers=allowance.covers
    )


def _drop(work: Work, allowance: Allowance) -> None:
    del work.state.allowances[allowance.id]
    work.state.touch("allowances")
    work.changes.take_back(sql.SAVE_ALLOWANCE, allowance.id)
    work.changes.add(sql.DROP_ALLOWANCE, (allowance.id,))


def _settle(work: Work, ask: Ask, state: AskState, decision: Decision, by: str | None) -> None:
    answer = str(decision) if state is AskState.ANSWERED else None
    closed = evolve(ask, state=state, answer=answer, answered_ms=work.now_ms, answered_by=by)
    work.put_ask(closed, is_open=False)
    replies = work.state.replies

    def give() -> None:
        reply = replies.pop(ask.id, None)
        if reply is not None:
            reply.give(decision)

    work.after.append(give)


def _reply(work: Work, reply: Reply, decision: Decision) -> None:
    work.after.append(partial(reply.give, decision))
