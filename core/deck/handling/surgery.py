"""Queue surgery: what waits is moved, edited, merged, given to another agent, or sent now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from batchdeck.core.commands import (
    EditTurn,
    MergeTurns,
    MoveTurn,
    Receipt,
    RetargetTurn,
    SendNow,
)
from batchdeck.core.deck.handling.finding import find_turn
from batchdeck.core.deck.handling.messages import Busy, busy_words
from batchdeck.core.deck.turns import claim, drop_queued
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BadInput, NotFound, Refused
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.gate import CAPACITY
from batchdeck.core.model.line import conversation_line
from batchdeck.core.model.turn import DECIDES_TASK, Turn, TurnState
from batchdeck.core.rules.consequences import answer_for
from batchdeck.core.rules.gates import passable
from batchdeck.core.rules.order import ordinal, place
from batchdeck.core.rules.reordering import reordered
from batchdeck.core.store import changes as sql
from batchdeck.core.text import one_line


def queued_turn(work: Work, turn_id: int) -> Turn:
    """A turn that still waits in the queue.

    Raises:
        NotFound: no such turn.
        Refused: it has started or ended, so there is nothing to operate on.
    """
    turn = find_turn(work.state, turn_id)
    if turn.state is not TurnState.QUEUED:
        raise Refused(
            f"#{turn.id} is {turn.state}; only what is queued can be changed.", code="gone"
        )
    return turn


def move(work: Work, command: MoveTurn) -> Receipt:
    """Puts a turn elsewhere among its agent's queued turns; the others keep their order.

    Raises:
        NotFound, Refused: it is not queued, or the order of a target or conversation would break.
    """
    turn = queued_turn(work, command.turn)
    anchor = None if command.anchor is None else queued_turn(work, command.anchor)
    if anchor is not None and anchor.agent != turn.agent:
        raise BadInput(f"#{anchor.id} is in the queue of {anchor.agent}, not of {turn.agent}.")
    changed = reordered(work.view, turn, command.where, anchor)
    for other in changed:
        work.put_turn(other)
        work.state.lines.resort(other)
    for other in changed:
        work.refresh(other.id)
    moved = work.state.turns[turn.id]
    spot = place(moved, work.view)
    words = f"#{turn.id} is {ordinal(spot)}"
    if not changed:
        return _moved(moved, spot, f"{words} already")
    if moved.priority != turn.priority:
        words += f", with priority {moved.priority} now"
    work.emit("queue.moved", moved, by=command.by, place=spot)
    return _moved(moved, spot, words)


def _moved(turn: Turn, spot: int, words: str) -> Receipt:
    return Receipt(accepted=True, turn=turn.id, state=turn.state, position=spot, message=words)


def edit(work: Work, command: EditTurn) -> Receipt:
    """Gives a queued turn another text, at its old place.

    Raises:
        NotFound, Refused: it is not queued.
        BadInput: the text is empty.
    """
    turn = queued_turn(work, command.turn)
    work.state.edited[turn.id] = work.state.edited.get(turn.id, 0) + 1
    if not command.text.strip():
        raise BadInput("The text is empty; delete the turn instead.")
    title = one_line(command.text, 120)
    if turn.trigger in DECIDES_TASK and turn.task is not None:
        work.changes.add(sql.EDIT_PROMPT, (command.text, turn.task, turn.id))
        turn = evolve(turn)  # its title is the task's; whoever shows its text looks again
    else:
        turn = evolve(turn, title=title)
    work.changes.add(sql.EDIT_MESSAGE, (command.text, turn.id))
    work.put_turn(turn)
    work.emit("queue.edited", turn, by=command.by)
    return Receipt(accepted=True, turn=turn.id, state=turn.state, message=f"#{turn.id} edited")


@dataclass(frozen=True, slots=True)
class Texts:
    """What messages said when somebody looked, by turn, and how often each was edited by then."""

    words: Mapping[int, str]
    edits: Mapping[int, int]


def merge(work: Work, command: MergeTurns, texts: Texts) -> Receipt:
    """Makes one message of several, at the first one's place.

    Raises:
        BadInput: fewer than two, or not all messages of one conversation or to one agent.
        NotFound, Refused: one is not queued, or was edited since its text was read.
    """
    turns = sorted(
        (queued_turn(work, turn) for turn in dict.fromkeys(command.turns)),
        key=lambda turn: turn.service_key,
    )
    _check_mergeable(work, turns)
    edited = [t for t in turns if work.state.edited.get(t.id, 0) != texts.edits[t.id]]
    if edited:
        raise Refused(f"#{edited[0].id} was edited at the same moment; merge again.")
    first, rest = turns[0], turns[1:]
    text = "\n\n".join(texts.words[turn.id] for turn in turns)
    work.state.edited[first.id] = work.state.edited.get(first.id, 0) + 1
    for turn in rest:
        drop_queued(work, turn, f"merged into #{first.id}")
    work.changes.add(sql.EDIT_MESSAGE, (text, first.id))
    merged = evolve(first, title=one_line(text, 120))
    work.put_turn(merged)
    work.emit("queue.merged", merged, by=command.by, turns=[str(turn.id) for turn in rest])
    return Receipt(
        accepted=True,
        turn=first.id,
        state=merged.state,
        message=f"{len(rest)} merged into #{first.id}",
    )


def _check_mergeable(work: Work, turns: Sequence[Turn]) -> None:
    if len(turns) < 2:
        raise BadInput("Give two or more queued messages to merge.")
    if any(turn.trigger in DECIDES_TASK for turn in turns):
        raise BadInput("Only messages can be merged, not the turns of tasks.")
    if len({turn.agent for turn in turns}) > 1:
        raise BadInput("Messages to different agents cannot be merged; retarget them first.")
    if len({turn.task for turn in turns}) > 1:
        raise BadInput("Messages about different tasks cannot be merged.")
    conversations = {
        turn.conversation: work.state.conversations[turn.conversation] for turn in turns
    }
    begun = [c for c in conversations.values() if c.session is not None]
    if begun and len(conversations) > 1:
        raise BadInput("Messages that go on in different conversations cannot be merged.")


def retarget(work: Work, command: RetargetTurn, folder: Folder | None) -> Receipt:
    """Gives a queued turn to another agent, at its old place.

    `folder` is the other agent's own: it takes the place of the one that was the first agent's.

    Raises:
        NotFound: no such agent or turn.
        Refused: it is not queued, or its task has begun with the other agent.
    """
    turn = queued_turn(work, command.turn)
    agent = command.agent
    if agent not in work.state.agents:
        known = ", ".join(sorted(work.state.agents))
        raise NotFound(f"There is no agent {agent!r}. There are: {known}.")
    conversation = work.state.conversations[turn.conversation]
    members = work.state.lines.members(conversation_line(conversation.id))
    if conversation.called is not None:
        raise Refused(
            f"#{turn.id} is in conversation {conversation.called!r} of its batch, which is "
            f"{conversation.agent}'s alone."
        )
    if conversation.session is not None or len(members) > 1:
        raise Refused(
            f"#{turn.id} goes on in a conversation with {turn.agent}, which another agent does "
            "not know."
        )
    work.state.conversations[conversation.id] = evolve(conversation, agent=agent)
    work.changes.add(sql.SAVE_CONVERSATION_AGENT, (agent, conversation.id))
    if turn.task is not None and turn.trigger in DECIDES_TASK:
        work.put_task(evolve(work.state.tasks[turn.task], agent=agent))
        work.changes.add(sql.SAVE_TASK_AGENT, (agent, turn.task))
    task = None if turn.task is None else work.state.tasks[turn.task]
    moved = evolve(turn, agent=agent)
    if task is None or task.folder is None:
        moved = evolve(moved, folder=folder)
    if folder is not None:
        work.know_folder(folder)
    work.put_turn(moved)
    work.refresh(moved.id)
    work.emit("queue.retargeted", moved, by=command.by, before=turn.agent)
    return Receipt(
        accepted=True,
        turn=turn.id,
        state=moved.state,
        position=place(moved, work.view),
        message=f"#{turn.id} goes to {agent}",
    )


def send_now(work: Work, command: SendNow) -> Receipt:
    """Starts a queued turn past the capacity gates that are shut, as a forced message would.

    Raises:
        NotFound, Refused: it is not queued.
        Busy: a gate is shut that nobody may pass, or one that was not shown.
    """
    turn = queued_turn(work, command.turn)
    answer = answer_for(work.view, turn, work.now_ms)
    shown = command.passing
    if not answer.free and not passable(answer.gates):
        raise Busy(answer, f"#{turn.id} cannot be sent now: {busy_words(answer)}.")
    if shown is not None and any(gate.name not in shown for gate in answer.gates):
        raise Busy(answer, "Another gate has shut meanwhile.")
    passed = tuple(str(gate.name) for gate in answer.gates if gate.name in CAPACITY)
    work.scheduler.remove(turn.id)
    work.scheduler.take(turn)
    running = claim(work, turn, passed, command.by)
    work.emit("message.sent", running, by=command.by, forced=bool(passed), bypassed=list(passed))
    return Receipt(
        accepted=True,
        turn=running.id,
        conversation=running.conversation,
        state=running.state,
        bypassed=passed,
        message=f"#{running.id} {running.state}",
    )
