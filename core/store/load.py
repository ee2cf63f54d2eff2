"""Reads a deck's state back from its file."""

from __future__ import annotations

import gc
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from batchdeck.core.model.account import Cooldown
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.blocker import Blocker
from batchdeck.core.model.budget import Budget, Spent
from batchdeck.core.model.conversation import Conversation
from batchdeck.core.model.evolving import maker
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.foreach import SHOWN, write_words
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.permission import Allowance
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import Turn
from batchdeck.core.store import batch_rows, rows
from batchdeck.core.store.migrate import version

_OUTSIDE_SINCE = 2
_ACCOUNTS_SINCE = 4
_BUDGETS_SINCE = 5
_PERMISSIONS_SINCE = 6
_Value = TypeVar("_Value")


@dataclass(slots=True)
class Stored:
    """A deck as its file has it."""

    facts: dict[str, str] = field(default_factory=dict)
    agents: list[Agent] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    folders: dict[int, Folder] = field(default_factory=dict)
    defined_folders: dict[str, str] = field(default_factory=dict)
    conversations: list[Conversation] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    """Every turn that has not ended, and the latest that have, by id."""
    limits: list[Limit] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    """Those that are not spent."""
    issue_moves: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    """Per task: the event of its issue that was acted upon, the status it got, and when."""
    cooldowns: list[Cooldown] = field(default_factory=list)
    budgets: list[Budget] = field(default_factory=list)
    spent: dict[str, Spent] = field(default_factory=dict)
    allowances: list[Allowance] = field(default_factory=list)
    done_elsewhere: list[int] = field(default_factory=list)
    """Tasks of which the latest turn was superseded."""
    tallies: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Per agent: turns that succeeded, and those that did not."""
    last_ids: dict[str, int] = field(default_factory=dict)
    set_aside: list[str] = field(default_factory=list)
    """Rows that nobody can read, as words."""
    unreadable: list[tuple[str, Any]] = field(default_factory=list)
    """Their kinds and ids."""
    wrote: dict[int, str] = field(default_factory=dict)
    """By task: what an item wrote latest, as one short line."""
    item_values: list[tuple[int, int, str, str, str | None, str]] = field(default_factory=list)
    """What items that are not done left: task, step, kind, name, reducer, value as JSON."""
    incomplete: set[str] = field(default_factory=set)
    """Batches of which tasks were set aside: they cannot come to their end."""


_LAST_IDS = {
    "turn": "turns",
    "task": "tasks",
    "conversation": "conversations",
    "message": "messages",
    "batch": "batches",
    "folder": "folders",
    "ask": "asks",
    "blocker": "blockers",
}


def load(raw: sqlite3.Connection, ended_turns: int) -> Stored:
    """Everything that is not history, and the latest `ended_turns` ended turns.

    One read transaction: all of it is of one moment.
    """
    raw.execute("BEGIN")
    collecting = gc.isenabled()
    gc.disable()  # nothing read here is garbage, and looking for some takes as long as reading
    try:
        return _load(raw, ended_turns)
    finally:
        if collecting:
            gc.enable()
        if raw.in_transaction:
            raw.execute("ROLLBACK")


def _load(raw: sqlite3.Connection, ended_turns: int) -> Stored:
    stored = Stored()
    stored.facts = {row["key"]: row["value"] for row in raw.execute("SELECT * FROM facts")}
    agents = raw.execute("SELECT name, definition FROM agents WHERE removed = 0 ORDER BY name")
    stored.agents = list(_read("agent", agents, _agent_from, stored))
    batches = raw.execute("SELECT * FROM batches ORDER BY id")
    stored.batches = list(_read("batch", batches, batch_rows.batch_from, stored))
    stored.folders = _folders(raw)
    defined = raw.execute("SELECT name, path FROM defined_folders")
    stored.defined_folders = {row["name"]: row["path"] for row in defined}
    conversations = _plain(
        raw,
        "SELECT id, agent, task, session, title, batch, name, session_cost "
        "FROM conversations ORDER BY id",
    )
    conversation = maker(Conversation)
    stored.conversations = [conversation(*row) for row in conversations]
    stored.tasks = _tasks(raw, stored)
    stored.turns = _turns(raw, stored, ended_turns)
    limits = raw.execute("SELECT * FROM limits")
    stored.limits = [rows.limit_from(row) for row in limits]
    paths = {f"folder:{folder.key}": folder.path for folder in stored.folders.values()}
    held = raw.execute("SELECT * FROM holds")
    stored.holds = [rows.hold_from(row, paths.get(row["what"])) for row in held]
    asks = raw.execute("SELECT * FROM asks WHERE state = 'open' ORDER BY id")
    stored.asks = list(_read("ask", asks, rows.ask_from, stored))
    _read_outside(raw, stored)
    _read_accounts(raw, stored)
    if version(raw) >= _PERMISSIONS_SINCE:
        allowed = _plain(
            raw, "SELECT id, agent, scope, covers, by, at_ms FROM allowances ORDER BY id"
        )
        stored.allowances = [Allowance(*row) for row in allowed]
    stored.wrote = {row[0]: write_words(row[1], row[2]) for row in _plain(raw, _WROTE, SHOWN)}
    stored.item_values = [tuple(row) for row in _plain(raw, _ITEM_VALUES)]
    stored.tallies = _tallies(raw)
    kept = json.loads(stored.facts.get("ids", "{}"))
    for name, table in _LAST_IDS.items():
        last = raw.execute(f"SELECT max(id) FROM {table}").fetchone()[0] or 0
        stored.last_ids[name] = max(last, kept.get(name, 0))
    stored.last_ids["event"] = raw.execute("SELECT max(last_seq) FROM events").fetchone()[0] or 0
    if stored.set_aside:
        _set_aside_what_needs_them(raw, stored)
    return stored


def _read_outside(raw: sqlite3.Connection, stored: Stored) -> None:
    """What is known of questions to people and of issues."""
    if version(raw) < _OUTSIDE_SINCE:
        return  # only looked at, by a command: the next supervisor migrates it
    blockers = raw.execute("SELECT * FROM blockers WHERE spent = 0 ORDER BY id")
    stored.blockers = list(_read("blocker", blockers, rows.blocker_from, stored))
    moves = raw.execute("SELECT task, event, status, moved_ms FROM issue_moves")
    stored.issue_moves = {
        row["task"]: (row["event"], row["status"], row["moved_ms"]) for row in moves
    }
    elsewhere = raw.execute(
        "SELECT DISTINCT tasks.id FROM turns JOIN tasks ON tasks.turn = turns.id "
        "WHERE turns.state = 9 AND tasks.status IN ('DONE', 'MERGED')"
    )
    stored.done_elsewhere = [row["id"] for row in elsewhere]


def _read_accounts(raw: sqlite3.Connection, stored: Stored) -> None:
    """The accounts that are used up; what was used, and what may be."""
    if version(raw) < _ACCOUNTS_SINCE:
        return
    cooldowns = raw.execute(
        "SELECT account, until_ms, since_ms, reason, windows, probe FROM cooldowns"
    )
    stored.cooldowns = [Cooldown(*row) for row in cooldowns]
    if version(raw) < _BUDGETS_SINCE:
        return
    stored.spent = {
        name: Spent(*sums)
        for name, *sums in _plain(
            raw, "SELECT name, tokens, money, unknown, unpriced, attempts FROM spent"
        )
    }
    stored.budgets = [
        Budget(batch, tokens, money, bool(hard), granted)
        for batch, tokens, money, hard, granted in _plain(
            raw, "SELECT batch, tokens, money, hard, granted FROM budgets"
        )
    ]


def _read(
    what: str, found: Iterable[Any], read: Callable[[Any], _Value], stored: Stored
) -> Iterator[_Value]:
    """The values of rows; one that cannot be understood is set aside, and the rest goes on."""
    for row in found:
        try:
            yield read(row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            stored.unreadable.append((what, row[0]))
            stored.set_aside.append(f"{what} {row[0]} ({error})")


def _agent_from(row: sqlite3.Row) -> Agent:
    return rows.agent_from(json.loads(row["definition"]))


def _set_aside_what_needs_them(raw: sqlite3.Connection, stored: Stored) -> None:
    """What refers to a row that was set aside goes with it, so that nothing dangles."""
    agents = {agent.name for agent in stored.agents}
    batches = {batch.name for batch in stored.batches}
    unread = {row for kind, row in stored.unreadable if kind == "turn"}
    tasks = [
        task
        for task in stored.tasks
        if task.batch in batches and task.agent in agents and task.turn not in unread
    ]
    known = {task.id for task in tasks}
    while True:
        kept = [task for task in tasks if known.issuperset(task.depends_on)]
        if len(kept) == len(tasks):
            break
        tasks, known = kept, {task.id for task in kept}
    gone = len(stored.tasks) - len(tasks)
    if gone:
        stored.set_aside.append(f"{gone} task{'s' if gone > 1 else ''} that cannot do without them")
    stored.tasks = tasks
    stored.turns = [
        turn
        for turn in stored.turns
        if turn.agent in agents and (turn.task is None or turn.task in known)
    ]
    shown = {turn.id for turn in stored.turns}
    stored.asks = [ask for ask in stored.asks if ask.turn in shown]
    stored.blockers = [blocker for blocker in stored.blockers if blocker.task in known]
    stored.done_elsewhere = [task for task in stored.done_elsewhere if task in known]
    read = Counter(task.batch for task in tasks)
    counted = raw.execute("SELECT batch, count(*) AS tasks FROM tasks GROUP BY batch")
    stored.incomplete = {row["batch"] for row in counted if row["tasks"] != read[row["batch"]]}


def _plain(raw: sqlite3.Connection, query: str, *parameters: Any) -> sqlite3.Cursor:
    """A query whose rows are plain tuples: by position is half the time of by name."""
    cursor = raw.cursor()
    cursor.row_factory = None
    return cursor.execute(query, parameters)


def latest_of(raw: sqlite3.Connection, conversation: int) -> Turn | None:
    """The latest turn of a conversation."""
    latest = "WHERE conversation = ? ORDER BY id DESC LIMIT 1"
    row = _plain(raw, f"{rows.SELECT_TURNS} {latest}", conversation).fetchone()
    return None if row is None else rows.turn_from(row, _folders(raw))


def _folders(raw: sqlite3.Connection) -> dict[int, Folder]:
    above: dict[int, list[str]] = {}
    for row in raw.execute("SELECT folder, above FROM folders_above ORDER BY folder, depth"):
        above.setdefault(row["folder"], []).append(row["above"])
    return {
        row["id"]: Folder(
            path=row["path"],
            key=row["key"],
            above=tuple(key for key in above.get(row["id"], ()) if key != row["key"]),
        )
        for row in raw.execute("SELECT id, key, path FROM folders")
    }


def _tasks(raw: sqlite3.Connection, stored: Stored) -> list[Task]:
    needs: dict[int, list[int]] = {}
    for row in raw.execute("SELECT task, needs FROM dependencies ORDER BY task, needs"):
        needs.setdefault(row["task"], []).append(row["needs"])

    def task_from(row: Any) -> Task:
        return rows.task_from(row, tuple(needs.get(row[0], ())))

    found = _plain(raw, f"{rows.SELECT_TASKS} ORDER BY id")
    return list(_read("task", found, task_from, stored))


_WROTE = (
    "SELECT task, name, substr(value, 1, ?) FROM item_values WHERE kind = 'write' "
    "ORDER BY task, step"
)
_ITEM_VALUES = (
    "SELECT task, item_values.step, kind, name, reducer, value FROM item_values "
    "JOIN tasks ON tasks.id = task WHERE status NOT IN ('DONE', 'MERGED') "
    "ORDER BY task, item_values.step"
)

_KEPT = "WHERE ended_ms IS NULL OR id IN (SELECT turn FROM asks WHERE state = 'open')"


def _turns(raw: sqlite3.Connection, stored: Stored, ended_turns: int) -> list[Turn]:
    def turn_from(row: Any) -> Turn:
        return rows.turn_from(row, stored.folders)

    open_turns = _plain(raw, f"{rows.SELECT_TURNS} {_KEPT}").fetchall()
    ended = _plain(
        raw,
        f"{rows.SELECT_TURNS} WHERE ended_ms IS NOT NULL ORDER BY id DESC LIMIT ?",
        ended_turns,
    ).fetchall()
    read = _read("turn", (*open_turns, *ended), turn_from, stored)
    found = {turn.id: turn for turn in read}
    return [found[turn] for turn in sorted(found)]


def _tallies(raw: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    counted = raw.execute(
        "SELECT agent, sum(state IN (4, 9)) AS good, "
        "sum(state IN (5, 6, 8)) AS bad "
        "FROM turns WHERE ended_ms IS NOT NULL GROUP BY agent"
    )
    return {row["agent"]: (row["good"], row["bad"]) for row in counted}
