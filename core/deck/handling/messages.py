"""Messages from people: weighed against the gates, then sent, queued, forced or refused."""

from __future__ import annotations

from dataclasses import replace

from batchdeck.core.commands import OnBusy, Receipt, Send
from batchdeck.core.deck.conversing import new_conversation
from batchdeck.core.deck.handling.finding import find_conversation, find_task, need_agent
from batchdeck.core.deck.handling.receiving import note_delivery, received
from batchdeck.core.deck.outcomes import stop_turn
from batchdeck.core.deck.state import DeckState
from batchdeck.core.deck.turns import claim, queue_turn
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import BadInput, BatchdeckError, NotFound, Refused
from batchdeck.core.model.conversation import Conversation
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.gate import CAPACITY, Gate, GateName
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import LIVE, MESSAGE_PRIORITY, Trigger, Turn, TurnState
from batchdeck.core.rules.consequences import BusyAnswer, front_priority, message_turn, would_wait
from batchdeck.core.rules.freeing import is_freed_by
from batchdeck.core.rules.gates import passable
from batchdeck.core.rules.order import ordinal, place
from batchdeck.core.text import did_you_mean, number_in, one_line

_MOST_NAMED = 4


class Busy(Refused):
    """A message was refused because of shut gates; nothing was stored."""

    def __init__(self, answer: BusyAnswer, message: str) -> None:
        super().__init__(message, code=busy_code(answer.gates))
        self.answer = answer


def busy_code(gates: tuple[Gate, ...]) -> str:
    """The stable name of the primary reason."""
    first = gates[0].name if gates else None
    if first is GateName.AGENT:
        return "agent_parallelism_limit_reached"
    return "agent_folder_busy" if first is GateName.FOLDER else "busy"


def send(
    work: Work,
    command: Send,
    folder: Folder | None,
    earlier: Turn | None,
    latest: Turn | None = None,
) -> Receipt:
    """Carries out a message. `earlier`: the turn that its delivery id already made.

    `folder` is the identity of the agent's default folder, for a new conversation; `latest` the
    latest turn of one that exists, for where memory has none of it any more.

    Raises:
        NotFound, Ambiguous: nobody of that name.
        BadInput: an empty message.
        Busy: a gate is shut and nobody said what then, or it cannot be forced.
    """
    earlier = received(work, command.delivery_id, earlier)
    if earlier is not None:
        return _receipt(work, earlier)
    if not command.text.strip():
        raise BadInput("The message is empty.")
    addressee = _addressee(work.state, command.to)
    turn = _as_if(work, command, addressee, folder, latest)
    answer = would_wait(work.view, turn, work.now_ms)
    if command.replacing is not None and not answer.free:
        return _replace(work, command, addressee, turn, answer)
    waits = command.unauthorised or command.held
    if waits or command.on_busy is OnBusy.QUEUE or answer.free:
        return _queue(work, command, addressee, turn, answer)
    if command.on_busy is OnBusy.FORCE:
        _check_force(command, answer)
        return _force(work, command, addressee, turn, answer)
    raise Busy(answer, _words(turn.agent, answer))


def _words(agent: str, answer: BusyAnswer) -> str:
    held = _holder_words(answer)
    queue = f"--on-busy queue waits for it, {ordinal(answer.position)} in line"
    force = "; --on-busy force starts it past these limits" if answer.passable else ""
    return f"{agent} is busy: {busy_words(answer)}{held}. {queue}{force}."


def busy_words(answer: BusyAnswer) -> str:
    """The shut gates, with their numbers."""
    return ", ".join(_gate_words(gate) for gate in answer.gates)


def _holder_words(answer: BusyAnswer) -> str:
    """`; in the way: #11 T1, #12 T2 and 3 more`"""
    if not answer.holders:
        return ""
    named = [f"#{h.turn}" + (f" {h.task}" if h.task else "") for h in answer.holders[:_MOST_NAMED]]
    more = len(answer.holders) - len(named)
    return f"; in the way: {', '.join(named)}" + (f" and {more} more" if more else "")


def _gate_words(gate: Gate) -> str:
    numbers = "" if gate.limit is None else f" {gate.used}/{gate.limit}"
    numbers = " closed" if gate.limit == 0 else numbers
    subject = f" {gate.subject}" if gate.subject else ""
    return f"{gate.name}{subject}{numbers}"


def _check_force(command: Send, answer: BusyAnswer) -> None:
    if not passable(answer.gates):
        stuck = ", ".join(_gate_words(g) for g in answer.gates if not g.passable)
        held = _holder_words(answer)
        raise Busy(answer, f"Cannot be forced: {stuck}{held}. --on-busy queue waits for it.")
    shown = command.passing
    if shown is not None and any(gate.name not in shown for gate in answer.gates):
        raise Busy(answer, "Another gate has shut meanwhile.")


class _Addressee:
    """Who a message is for: an agent anew, or a conversation that exists."""

    def __init__(self, agent: str, conversation: Conversation | None, task: Task | None) -> None:
        self.agent = agent
        self.conversation = conversation
        self.task = task


def _addressee(state: DeckState, to: str) -> _Addressee:
    if to in state.agents:
        return _Addressee(to, None, None)
    number = number_in(to[1:])
    if to.startswith("c") and number is not None:
        conversation = state.conversations.get(number)
        if conversation is None:
            raise NotFound(f"There is no conversation {to}.")
        task = None if conversation.task is None else state.tasks[conversation.task]
        need_agent(state, conversation.agent)
        return _Addressee(conversation.agent, conversation, task)
    if to.startswith("#") and number in state.turns:
        turn = state.turns[number]
        return _addressee(state, f"c{turn.conversation}")
    try:
        task = find_task(state, to)
    except NotFound:
        return _named_conversation(state, to)
    conversation = state.conversations[state.conversation_of(task)]
    need_agent(state, conversation.agent)
    return _Addressee(conversation.agent, conversation, task)


def _named_conversation(state: DeckState, to: str) -> _Addressee:
    try:
        conversation = find_conversation(state, to)
    except NotFound:
        known = ", ".join(sorted(state.agents)) or "none"
        near = did_you_mean(to, state.agents) or "."
        raise NotFound(
            f"There is no agent, conversation or task {to!r}{near} Agents here: {known}."
        ) from None
    need_agent(state, conversation.agent)
    return _Addressee(conversation.agent, conversation, None)


def conversation_named(state: DeckState, to: str) -> int | None:
    """The conversation that a message goes to; None where it begins one, or there is none."""
    try:
        named = _addressee(state, to).conversation
    except BatchdeckError:
        return None
    return None if named is None else named.id


def _as_if(
    work: Work,
    command: Send,
    addressee: _Addressee,
    folder: Folder | None,
    latest: Turn | None,
) -> Turn:
    conversation = addressee.conversation
    turn = message_turn(
        work.view,
        addressee.agent,
        None if conversation is None else conversation.id,
        None if addressee.task is None else addressee.task.id,
        MESSAGE_PRIORITY if command.priority is None else command.priority,
        command.target,
        latest,
    )
    if turn.folder is None and addressee.task is None and folder is not None:
        turn = replace(turn, folder=folder)
    if command.front or command.replacing is not None:
        turns = work.state.turns.values()
        turn = replace(turn, priority=front_priority(turns, addressee.agent, turn.priority))
    return turn


def _store(
    work: Work,
    command: Send,
    addressee: _Addressee,
    as_if: Turn,
    position: int | None = None,
) -> Turn:
    title = one_line(command.text, 120)
    conversation = addressee.conversation
    if conversation is None:
        conversation = new_conversation(work, addressee.agent, None, title)
    turn = queue_turn(
        work,
        agent=addressee.agent,
        conversation=conversation.id,
        trigger=as_if.trigger if command.delivery_id is None else Trigger.RECEIPT,
        title=title,
        task=addressee.task,
        lane=as_if.lane,
        folder=as_if.folder,
        target=command.target,
        priority=as_if.priority,
        position=position,
        held_by=command.by if command.held else None,
        authorised=not command.unauthorised,
        text=command.text,
    )
    note_delivery(work, command.delivery_id, turn.id)
    return turn


def _queue(
    work: Work, command: Send, addressee: _Addressee, as_if: Turn, answer: BusyAnswer
) -> Receipt:
    turn = _store(work, command, addressee, as_if)
    work.emit("message.sent", turn, by=command.by, on_busy=command.on_busy, forced=False)
    return _receipt(work, turn)


def _force(
    work: Work, command: Send, addressee: _Addressee, as_if: Turn, answer: BusyAnswer
) -> Receipt:
    """Starts the turn in the same transaction, past the gates that are shut."""
    passed = tuple(str(gate.name) for gate in answer.gates if gate.name in CAPACITY)
    turn = _store(work, command, addressee, as_if)
    work.scheduler.remove(turn.id)
    work.scheduler.take(turn)
    running = claim(work, turn, passed, command.by)
    work.emit("message.sent", running, by=command.by, forced=True, bypassed=list(passed))
    return _receipt(work, running, passed)


def _replace(
    work: Work, command: Send, addressee: _Addressee, as_if: Turn, answer: BusyAnswer
) -> Receipt:
    """Stops the one turn in the way; the message is the next there, before what is left of it.

    Raises:
        Busy: that turn does not run any more, or something else is in the way too.
    """
    replaced = work.state.turns.get(command.replacing or 0)
    if replaced is None or replaced.state not in LIVE:
        raise Busy(answer, f"#{command.replacing} does not run any more.")
    if not is_freed_by(as_if, work.view, replaced.id, work.now_ms):
        raise Busy(answer, f"#{replaced.id} is not all that is in the way.")
    is_same = replaced.conversation == as_if.conversation
    turn = _store(work, command, addressee, as_if, replaced.position if is_same else None)
    work.emit("message.sent", turn, by=command.by, forced=False, replaces=str(replaced.id))
    stop_turn(work, replaced, command.by)
    return _receipt(work, turn)


def _receipt(work: Work, turn: Turn, bypassed: tuple[str, ...] = ()) -> Receipt:
    """Given before the round's admissions: the writer completes the state when it has admitted."""
    position = place(turn, work.view) if turn.state is TurnState.QUEUED else None
    return Receipt(
        accepted=True,
        turn=turn.id,
        conversation=turn.conversation,
        state=turn.state,
        position=position,
        bypassed=bypassed,
        message=f"#{turn.id} {turn.state}",
    )
