"""Conversations and their messages, as rows of a transaction in the making."""

from __future__ import annotations

from batchdeck.core.deck.work import Work
from batchdeck.core.model.conversation import Conversation, Role
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.turn import Turn
from batchdeck.core.store import changes as sql


def new_conversation(
    work: Work,
    agent: str,
    task: int | None,
    title: str,
    batch: str | None = None,
    called: str | None = None,
) -> Conversation:
    """Makes a conversation, of a task or a chat, or the one that steps of a batch name."""
    row_id = work.state.next.conversation
    work.state.next.conversation += 1
    found = Conversation(row_id, agent, task, None, title, batch, called)
    work.state.know_conversation(found)
    row = (row_id, agent, task, None, title, batch, called, work.now_ms)
    work.changes.add(sql.INSERT_CONVERSATION, row)
    return found


def know_named(work: Work, batch: str, called: str | None, agent: str) -> None:
    """Makes the conversation of a batch that has this name, the first time it is named."""
    if called is None:
        return
    known = work.state.named.get((batch, called))
    if known is None:
        new_conversation(work, agent, None, called, batch, called)
    else:
        hand_over(work, known, agent)


def hand_over(work: Work, conversation: int, agent: str) -> None:
    """Lets another agent go on in a conversation; it does not know the session of the one
    before."""
    found = work.state.conversations[conversation]
    if found.agent != agent:
        work.state.conversations[conversation] = evolve(
            found, agent=agent, session=None, session_cost=None
        )
        work.changes.add(sql.HAND_OVER, (agent, conversation))


def repeat_step(work: Work, turn: Turn) -> None:
    """Gives a turn that tries an item's later step again the words of that step."""
    row_id = work.state.next.message
    work.state.next.message += 1
    row = (row_id, turn.id, work.now_ms, turn.conversation, turn.task)
    work.changes.add(sql.REPEAT_STEP, row)


def keep_session(
    work: Work, conversation: int, session: str, session_cost: float | None = None
) -> None:
    """Remembers the program's own id of a conversation, and what that has cost so far."""
    found = work.state.conversations[conversation]
    if session_cost is None and found.session == session:
        return
    if (found.session, found.session_cost) != (session, session_cost):
        kept = evolve(found, session=session, session_cost=session_cost)
        work.state.conversations[conversation] = kept
        work.changes.add(sql.SAVE_SESSION, (session, session_cost, conversation))


def add_message(work: Work, turn: Turn, role: Role, text: str) -> None:
    """Says something in a turn's conversation."""
    row_id = work.state.next.message
    work.state.next.message += 1
    row = (row_id, turn.conversation, turn.id, role, text, work.now_ms)
    work.changes.add(sql.INSERT_MESSAGE, row)
