"""Commands, receipts and views as JSON, the same for every door."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from batchdeck.core.commands import (
    AddTask,
    AnswerAsk,
    AnswerBlocker,
    BlockTask,
    Command,
    DefineAgent,
    Drain,
    EditTurn,
    MergeTurns,
    MoveTurn,
    PutHold,
    Receipt,
    Reconcile,
    ReleaseHold,
    RemoveAgent,
    ResumeBatch,
    RetargetTurn,
    RetryTask,
    RevokeAllowance,
    Send,
    SendNow,
    SetLimit,
    SetStatus,
    StopAll,
    StopTurn,
)
from batchdeck.core.errors import BadInput
from batchdeck.core.keeping import refuse_what_cannot_be_kept
from batchdeck.core.model.gate import Gate, GateName, Holder
from batchdeck.core.model.turn import TurnState
from batchdeck.core.port import OutputPage

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_KINDS: Mapping[str, type[Command]] = {
    "send": Send,
    "limit": SetLimit,
    "stop": StopTurn,
    "stop_all": StopAll,
    "hold": PutHold,
    "release": ReleaseHold,
    "drain": Drain,
    "retry": RetryTask,
    "status": SetStatus,
    "answer": AnswerAsk,
    "revoke": RevokeAllowance,
    "block": BlockTask,
    "answer_blocker": AnswerBlocker,
    "reconcile": Reconcile,
    "resume": ResumeBatch,
    "move": MoveTurn,
    "edit": EditTurn,
    "merge": MergeTurns,
    "retarget": RetargetTurn,
    "now": SendNow,
    "add_task": AddTask,
    "agent": DefineAgent,
    "remove_agent": RemoveAgent,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # a deck opens without it

    return TypeAdapter(_KINDS[name])


def command_document(command: Command) -> dict[str, Any]:
    """A command as it crosses the socket.

    What is as it is by default is left out: an older supervisor need not know of it.
    """
    document: dict[str, Any] = {"kind": _NAMES[type(command)]}
    for field in fields(command):
        value = getattr(command, field.name)
        if value != field.default:
            document[field.name] = plain(value)
    return document


def plain(value: Any) -> Any:
    """A value as JSON has it: mappings with text keys, dataclasses by their fields, sets sorted."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def command_from(document: Any) -> Command:
    """The command that a document describes.

    Raises:
        BadInput: it describes none; the message says what is wrong.
    """
    if not isinstance(document, dict):
        raise BadInput("A command is a JSON object.")
    kind = _KINDS.get(str(document.get("kind")))
    if kind is None:
        raise BadInput(f"There is no command {document.get('kind')!r}.")
    refuse_what_cannot_be_kept(document)
    values = {name: value for name, value in document.items() if name != "kind"}
    unknown = sorted(values.keys() - {field.name for field in fields(kind)})
    if unknown:
        raise BadInput(f"{document['kind']} knows no {', '.join(map(repr, unknown))}.")
    if kind is Send and values.get("on_busy") not in (None, "queue", "force"):
        raise BadInput(f"on_busy cannot be {values['on_busy']!r}.", code="on_busy_invalid")
    from pydantic import ValidationError

    try:
        command: Command = _adapter(document["kind"]).validate_json(json.dumps(values), strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise BadInput(f"{document['kind']}: {where}: {fault['msg']}.") from None
    return command


def gate_document(gate: Gate) -> dict[str, Any]:
    """A gate as `why --json` shows it."""
    return {
        "gate": gate.name,
        "open": gate.open,
        "subject": gate.subject,
        "used": gate.used,
        "limit": gate.limit,
        "holders": [
            {
                "turn": str(holder.turn),
                "task": holder.task,
                "since_ms": holder.since_ms,
                "forced": holder.forced,
            }
            for holder in gate.holders
        ],
        "frees": gate.frees,
        "passable": gate.passable,
        "place": gate.place,
    }


def gate_documents(gates: Iterable[Gate]) -> list[dict[str, Any]]:
    return [gate_document(gate) for gate in gates]


def receipt_document(receipt: Receipt) -> dict[str, Any]:
    """A receipt as JSON; what does not apply is left out."""
    if not receipt.accepted:
        document: dict[str, Any] = {"error": receipt.error, "message": receipt.message}
        if receipt.gates:
            document["gates"] = gate_documents(receipt.gates)
        if receipt.position is not None:
            document["position"] = receipt.position
        return document
    document = {"message": receipt.message}
    if receipt.turn is not None:
        document["turn"] = str(receipt.turn)
        document["state"] = receipt.state
        document["position"] = receipt.position
        document["forced"] = bool(receipt.bypassed)
        document["bypassed"] = list(receipt.bypassed)
    if receipt.conversation is not None:
        document["conversation"] = f"c{receipt.conversation}"
    if receipt.batch is not None:
        document["batch"] = receipt.batch
    if receipt.before is not None:
        document["before"] = receipt.before
    return document


def answer_document(receipt: Receipt) -> dict[str, Any]:
    """A receipt as it crosses the socket: its document, with the exit code it stands for."""
    return {
        "accepted": receipt.accepted,
        "exit_code": receipt.exit_code,
        "receipt": receipt_document(receipt),
    }


def receipt_from(answer: Mapping[str, Any]) -> Receipt:
    """The receipt that crossed the socket as `answer_document`, or as a bare error."""
    document = answer.get("receipt", answer)
    turn, conversation, state = (document.get(n) for n in ("turn", "conversation", "state"))
    return Receipt(
        accepted=answer.get("accepted", False),
        error=document.get("error"),
        message=document.get("message", ""),
        exit_code=answer.get("exit_code", BadInput.exit_code),
        gates=tuple(_gate_from(gate) for gate in document.get("gates", ())),
        turn=None if turn is None else int(turn),
        conversation=None if conversation is None else int(conversation.removeprefix("c")),
        state=None if state is None else TurnState(state),
        position=document.get("position"),
        bypassed=tuple(document.get("bypassed", ())),
        batch=document.get("batch"),
        before=document.get("before"),
    )


def _gate_from(document: Mapping[str, Any]) -> Gate:
    holders = [
        Holder(int(one["turn"]), one["task"], one["since_ms"], one["forced"])
        for one in document["holders"]
    ]
    return Gate(
        name=GateName(document["gate"]),
        holders=tuple(holders),
        **{name: document[name] for name in ("open", "subject", "used", "limit")},
        **{name: document[name] for name in ("frees", "passable", "place")},
    )


def page_document(page: OutputPage) -> dict[str, Any]:
    """A piece of output as it crosses the socket: bytes, so in base 64."""
    data = base64.b64encode(page.data).decode("ascii")
    facts = {name: getattr(page, name) for name in ("start", "size", "ended", "attempt")}
    return {**facts, "data": data}


def page_from(document: Mapping[str, Any]) -> OutputPage:
    data = base64.b64decode(document["data"])
    attempt = document.get("attempt")
    return OutputPage(document["start"], data, document["size"], document["ended"], attempt)
