"""One mapper per table: rows to frozen values and back, by named columns."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, fields
from typing import Any

from batchdeck.core.model.account import Cooldown
from batchdeck.core.model.agent import Agent, AgentKind, PromptVia
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.blocker import Blocker, BlockerState
from batchdeck.core.model.conversation import Message, Role
from batchdeck.core.model.evolving import maker
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.task import Because, Status, Task
from batchdeck.core.model.turn import Trigger, Turn, TurnState

# -- turns

TURN_COLUMNS = (
    "id agent conversation trigger position state priority task batch target folder lane "
    "not_before_ms held_by authorised forced forced_by attempt attempts queued_ms started_ms "
    "ended_ms exit_code error title stopped_by"
).split()

STATE_CODES: dict[TurnState, int] = {
    TurnState.QUEUED: 0,
    TurnState.RUNNING: 1,
    TurnState.STOPPING: 2,
    TurnState.WAITING: 3,
    TurnState.SUCCEEDED: 4,
    TurnState.FAILED: 5,
    TurnState.INCOMPLETE: 6,
    TurnState.CANCELLED: 7,
    TurnState.LOST: 8,
    TurnState.SUPERSEDED: 9,
}
"""As `0001_deck.sql` explains them; the guard and the indexes rely on the order."""
_STATES = {code: state for state, code in STATE_CODES.items()}
_TRIGGERS = {str(trigger): trigger for trigger in Trigger}
_STATUSES = {str(status): status for status in Status}
_REASONS: dict[str | None, Because | None] = {None: None, **{str(one): one for one in Because}}

SELECT_TURNS = f"SELECT {', '.join(TURN_COLUMNS)} FROM turns"


def plain(word: str | None) -> str | None:
    """An enumeration's member as the plain text that sqlite3 stores without a detour."""
    return None if word is None else str(word)


def forced_text(gates: tuple[str, ...]) -> str:
    """Gates as the guard looks them up: `,agent,global,`."""
    return f",{','.join(gates)}," if gates else ""


def turn_values(turn: Turn, folder: int | None) -> tuple[Any, ...]:
    """In the order of `TURN_COLUMNS`; `folder` is its row's id."""
    return (
        turn.id,
        turn.agent,
        turn.conversation,
        str(turn.trigger),
        turn.position,
        STATE_CODES[turn.state],
        turn.priority,
        turn.task,
        turn.batch,
        turn.target,
        folder,
        plain(turn.lane),
        turn.not_before_ms,
        turn.held_by,
        int(turn.authorised),
        forced_text(turn.forced),
        turn.forced_by,
        turn.attempt,
        turn.attempts,
        turn.queued_ms,
        turn.started_ms,
        turn.ended_ms,
        turn.exit_code,
        turn.error,
        turn.title,
        turn.stopped_by,
    )


def turn_from(row: Sequence[Any], folders: Mapping[int, Folder]) -> Turn:
    """A turn as stored, from its columns in the order of `TURN_COLUMNS`.

    What depends on its task (`depends_on`, `blocked`) is the loader's. By position, not by name:
    a deck of 100,000 turns is read at every start.
    """
    (
        row_id,
        agent,
        conversation,
        trigger,
        position,
        state,
        priority,
        task,
        batch,
        target,
        folder,
        lane,
        not_before_ms,
        held_by,
        authorised,
        forced,
        forced_by,
        attempt,
        attempts,
        queued_ms,
        started_ms,
        ended_ms,
        exit_code,
        error,
        title,
        stopped_by,
    ) = row
    return Turn(
        id=row_id,
        agent=agent,
        conversation=conversation,
        trigger=_TRIGGERS[trigger],
        position=position,
        state=_STATES[state],
        priority=priority,
        task=task,
        batch=batch,
        target=target,
        folder=None if folder is None else folders.get(folder),
        lane=None if lane is None else _STATUSES[lane],
        not_before_ms=not_before_ms,
        held_by=held_by,
        authorised=bool(authorised),
        forced=tuple(forced.strip(",").split(",")) if forced else (),
        forced_by=forced_by,
        attempt=attempt,
        attempts=attempts,
        queued_ms=queued_ms,
        started_ms=started_ms,
        ended_ms=ended_ms,
        exit_code=exit_code,
        error=error,
        stopped_by=stopped_by,
        title=title,
    )


# -- tasks

TASK_COLUMNS = (
    "id key batch title agent prompt status conversation position priority target folder issue "
    "turn attempts error because fingerprint updated_ms item_index step item barrier "
    "shared"
).split()

SELECT_TASKS = (
    "SELECT id, key, batch, title, agent, status, conversation, position, priority, target, "
    "folder, issue, turn, attempts, error, because, updated_ms, item_index, step, item, barrier, "
    "shared FROM tasks"
)


def task_values(task: Task, prompt: str, fingerprint: str) -> tuple[Any, ...]:
    """In the order of `TASK_COLUMNS`."""
    return (
        task.id,
        task.key,
        task.batch,
        task.title,
        task.agent,
        prompt,
        str(task.status),
        task.conversation,
        task.position,
        task.priority,
        task.target,
        task.folder,
        task.issue,
        task.turn,
        task.attempts,
        task.error,
        plain(task.because),
        fingerprint,
        task.updated_ms,
        task.index,
        task.step,
        task.item,
        int(task.barrier),
        task.shared,
    )


def task_from(row: Sequence[Any], depends_on: tuple[int, ...]) -> Task:
    """A task from its columns in the order of `SELECT_TASKS`."""
    return _task(
        *row[:5],
        _STATUSES[row[5]],
        *row[6:12],
        depends_on,
        *row[12:15],
        _REASONS[row[15]],
        *row[16:20],
        "",  # what it wrote is read apart
        bool(row[20]),
        row[21],
    )


_task = maker(Task)


# -- agents


def agent_document(agent: Agent) -> dict[str, Any]:
    """An agent's definition as JSON; it holds names of secrets, never secrets."""
    document: dict[str, Any] = {}
    for field in fields(agent):
        value = getattr(agent, field.name)
        if isinstance(value, Mapping):
            value = dict(value)
        document[field.name] = value
    return document


def agent_from(document: Mapping[str, Any]) -> Agent:
    known = {field.name for field in fields(Agent)}
    values = {name: value for name, value in document.items() if name in known}
    values["kind"] = AgentKind(values["kind"])
    values["prompt_via"] = PromptVia(values["prompt_via"])
    values["command"] = tuple(values["command"])
    values["pass_env"] = tuple(values["pass_env"])
    return Agent(**values)


# -- small ones


def limit_from(row: sqlite3.Row) -> Limit:
    return Limit(
        name=row["name"],
        value=row["value"],
        changed_by=row["changed_by"],
        changed_ms=row["changed_ms"],
        origin=row["origin"],
        explicit=bool(row["explicit"]),
    )


def hold_from(row: sqlite3.Row, path: str | None) -> Hold:
    return Hold(what=row["what"], by=row["by"], reason=row["reason"], at_ms=row["at_ms"], path=path)


def message_from(row: sqlite3.Row) -> Message:
    return Message(
        id=row["id"],
        conversation=row["conversation"],
        turn=row["turn"],
        role=Role(row["role"]),
        text=row["text"],
        at_ms=row["at_ms"],
    )


ASK_COLUMNS = (
    'id turn question choices "schema" "default" alive scope covers state answer opened_ms '
    "answered_ms answered_by"
).split()


def ask_values(ask: Ask) -> tuple[Any, ...]:
    """In the order of `ASK_COLUMNS`."""
    values = asdict(ask)
    values["choices"] = json.dumps(ask.choices)
    values["alive"] = int(ask.alive)
    return tuple(values[name.strip('"')] for name in ASK_COLUMNS)


def ask_from(row: sqlite3.Row) -> Ask:
    is_newer = "scope" in row.keys()  # noqa: SIM118 - a row is no mapping
    return Ask(
        id=row["id"],
        turn=row["turn"],
        question=row["question"],
        choices=tuple(json.loads(row["choices"])),
        schema=row["schema"],
        default=row["default"],
        alive=bool(row["alive"]),
        scope=row["scope"] if is_newer else None,
        covers=row["covers"] if is_newer else "",
        state=AskState(row["state"]),
        answer=row["answer"],
        opened_ms=row["opened_ms"],
        answered_ms=row["answered_ms"],
        answered_by=row["answered_by"],
    )


BLOCKER_COLUMNS = (
    "id task ask question state answer opened_ms opened_by answered_ms answered_by spent"
).split()


def cooldown_values(cooldown: Cooldown) -> tuple[Any, ...]:
    """In the order of the columns of `cooldowns`."""
    return astuple(cooldown)


def blocker_values(blocker: Blocker) -> tuple[Any, ...]:
    """In the order of `BLOCKER_COLUMNS`."""
    values = asdict(blocker)
    values["state"] = str(blocker.state)
    values["spent"] = int(blocker.spent)
    return tuple(values[name] for name in BLOCKER_COLUMNS)


def blocker_from(row: sqlite3.Row) -> Blocker:
    return Blocker(
        id=row["id"],
        task=row["task"],
        ask=row["ask"],
        question=row["question"],
        state=BlockerState(row["state"]),
        answer=row["answer"],
        opened_ms=row["opened_ms"],
        opened_by=row["opened_by"],
        answered_ms=row["answered_ms"],
        answered_by=row["answered_by"],
        spent=bool(row["spent"]),
    )
