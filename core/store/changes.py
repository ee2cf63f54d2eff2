"""What one transaction is to write, collected as values and written in one go."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from batchdeck.core.errors import StoreError
from batchdeck.core.points import reached
from batchdeck.core.store.batch_rows import BATCH_COLUMNS
from batchdeck.core.store.rows import (
    ASK_COLUMNS,
    BLOCKER_COLUMNS,
    TASK_COLUMNS,
    TURN_COLUMNS,
)


class GuardRefused(StoreError):
    """The database refused a claim: what is in memory is not what is on disk."""

    def __init__(self, message: str, turns: frozenset[int] = frozenset()) -> None:
        """`turns`: those that were to start by themselves, and were refused."""
        super().__init__(message)
        self.turns = turns


def _insert(table: str, columns: Sequence[str], verb: str = "INSERT") -> str:
    marks = ", ".join("?" * len(columns))
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({marks})"


INSERT_FOLDER = "INSERT INTO folders (id, key, path) VALUES (?, ?, ?)"
RENAME_FOLDER = "UPDATE folders SET path = ? WHERE id = ?"
INSERT_ABOVE = "INSERT INTO folders_above (folder, above, depth) VALUES (?, ?, ?)"
DEFINE_FOLDER = "INSERT OR REPLACE INTO defined_folders (name, path) VALUES (?, ?)"
UNDEFINE_FOLDER = "DELETE FROM defined_folders WHERE name = ?"
FORGET_TASK_FOLDER = "UPDATE tasks SET folder = NULL WHERE folder = ?"
SAVE_AGENT = (
    "INSERT INTO agents (name, definition, version, origin, changed_ms, removed) "
    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, "
    "version = excluded.version, origin = excluded.origin, changed_ms = excluded.changed_ms, "
    "removed = excluded.removed"
)
SAVE_BATCH = (
    _insert("batches", BATCH_COLUMNS)
    + " ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in BATCH_COLUMNS[2:])
)
SAVE_BATCH_PLAN = "UPDATE batches SET budget = ?, foreach = ? WHERE id = ?"
COMMIT_BARRIER = "UPDATE batches SET committed = ? WHERE id = ? AND committed IS NULL"
SAVE_ITEM_VALUE = (
    "INSERT OR REPLACE INTO item_values (task, step, kind, name, reducer, value) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
ADVANCE_TASK = (
    "UPDATE tasks SET step = ?, agent = ?, title = ?, target = ?, folder = ?, priority = ?, "
    "shared = ? WHERE id = ?"
)
REPLAN_ITEM = "UPDATE tasks SET item = ?, shared = ? WHERE id = ?"
HAND_OVER = "UPDATE conversations SET agent = ?, session = NULL, session_cost = NULL WHERE id = ?"
INSERT_CONVERSATION = (
    "INSERT INTO conversations (id, agent, task, session, title, batch, name, created_ms) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
SAVE_SESSION = "UPDATE conversations SET session = ?, session_cost = ? WHERE id = ?"
INSERT_TASK = _insert("tasks", TASK_COLUMNS)
REPLAN_TASK = (
    "UPDATE tasks SET title = ?, agent = ?, prompt = ?, priority = ?, target = ?, folder = ?, "
    "issue = ?, fingerprint = ?, position = ? WHERE id = ?"
)
MOVE_TASK = "UPDATE tasks SET batch = ?, position = ? WHERE id = ?"
INSERT_DEPENDENCY = "INSERT OR IGNORE INTO dependencies (task, needs) VALUES (?, ?)"
DROP_DEPENDENCIES = "DELETE FROM dependencies WHERE task = ?"
UPDATE_TASK = (
    "UPDATE tasks SET status = ?, turn = ?, attempts = ?, error = ?, because = ?, updated_ms = ? "
    "WHERE id = ? AND (? OR status NOT IN ('DONE', 'MERGED'))"
)
"""The last value: whether it may be done on disk; what another program did is never overwritten."""
INSERT_TURN = _insert("turns", TURN_COLUMNS)
UPDATE_TURN = (
    "UPDATE turns SET state = ?, priority = ?, position = ?, folder = ?, lane = ?, "
    "not_before_ms = ?, held_by = ?, authorised = ?, forced = ?, forced_by = ?, attempt = ?, "
    "attempts = ?, "
    "started_ms = ?, ended_ms = ?, exit_code = ?, error = ?, stopped_by = ?, title = ?, "
    "agent = ?, batch = ?, target = ? WHERE id = ? AND state = ?"
)
CLAIM = """
UPDATE turns SET state = 1, attempt = json_extract(claim.value, '$[1]'),
    attempts = json_extract(claim.value, '$[2]'), lane = json_extract(claim.value, '$[3]'),
    forced = json_extract(claim.value, '$[4]'), forced_by = json_extract(claim.value, '$[5]'),
    started_ms = json_extract(claim.value, '$[6]'), error = NULL
FROM json_each(?) AS claim
WHERE turns.id = json_extract(claim.value, '$[0]') AND turns.state = 0
RETURNING turns.id, coalesce(
    (SELECT text FROM messages WHERE turn = turns.id AND role = 'operator'),
    (SELECT prompt FROM tasks WHERE tasks.id = turns.task), '') AS prompt
"""
EDIT_MESSAGE = "UPDATE messages SET text = ? WHERE turn = ? AND role = 'operator'"
EDIT_PROMPT = (
    "UPDATE tasks SET prompt = ? WHERE id = ? AND NOT EXISTS "
    "(SELECT 1 FROM messages WHERE turn = ? AND role = 'operator')"
)
"""Of a turn that is told its task's prompt; one with a message of its own is told that."""
SAVE_TASK_AGENT = "UPDATE tasks SET agent = ? WHERE id = ?"
SAVE_CONVERSATION_AGENT = "UPDATE conversations SET agent = ? WHERE id = ?"
INSERT_MESSAGE = (
    "INSERT INTO messages (id, conversation, turn, role, text, at_ms) VALUES (?, ?, ?, ?, ?, ?)"
)
COPY_MESSAGE = (
    "INSERT INTO messages (id, conversation, turn, role, text, at_ms) "
    "SELECT ?, conversation, ?, role, text, ? FROM messages WHERE turn = ? AND role = 'operator' "
    "ORDER BY id LIMIT 1"
)
REPEAT_STEP = (
    "INSERT INTO messages (id, conversation, turn, role, text, at_ms) "
    "SELECT ?, messages.conversation, ?, role, text, ? FROM messages "
    "JOIN turns ON turns.id = messages.turn WHERE messages.conversation = ? "
    "AND role = 'operator' AND turns.trigger = 'task' AND turns.task = ? "
    "ORDER BY messages.id DESC LIMIT 1"
)
"""The words of an item's latest step, for a turn that tries it again."""
INSERT_ATTEMPT = (
    "INSERT INTO attempts (id, turn, number, agent_version, claimed_ms) VALUES (?, ?, ?, ?, ?)"
)
START_ATTEMPT = "UPDATE attempts SET started_ms = coalesce(started_ms, ?) WHERE id = ?"
END_ATTEMPT = (
    "UPDATE attempts SET started_ms = coalesce(started_ms, ?), ended_ms = ?, "
    '"end" = ?, exit_code = ?, leftovers = ?, error = ?, tokens_in = ?, tokens_out = ?, cost = ? '
    "WHERE id = ? AND ended_ms IS NULL"
)
SAVE_ASK = _insert("asks", ASK_COLUMNS, "INSERT OR REPLACE")
SAVE_ALLOWANCE = (
    "INSERT OR REPLACE INTO allowances (id, agent, scope, covers, by, at_ms) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
DROP_ALLOWANCE = "DELETE FROM allowances WHERE id = ?"
SAVE_BLOCKER = _insert("blockers", BLOCKER_COLUMNS, "INSERT OR REPLACE")
SAVE_ISSUE_MOVE = (
    "INSERT OR REPLACE INTO issue_moves (task, event, status, moved_ms) VALUES (?, ?, ?, ?)"
)
INSERT_RECEIPT = "INSERT INTO receipts (delivery_id, turn, at_ms) VALUES (?, ?, ?)"
SAVE_LIMIT = (
    "INSERT OR REPLACE INTO limits (name, value, binding, changed_by, changed_ms, origin, "
    "explicit) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
SAVE_HOLD = "INSERT OR REPLACE INTO holds (what, by, reason, at_ms) VALUES (?, ?, ?, ?)"
REBIND_LIMIT = "UPDATE limits SET binding = ?1 WHERE name = ?2 AND binding IS NOT ?1"
DROP_HOLD = "DELETE FROM holds WHERE what = ?"
SAVE_COOLDOWN = (
    "INSERT OR REPLACE INTO cooldowns (account, until_ms, since_ms, reason, windows, probe) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
DROP_COOLDOWN = "DELETE FROM cooldowns WHERE account = ?"
SAVE_SPENT = (
    "INSERT OR REPLACE INTO spent (name, tokens, money, unknown, unpriced, attempts) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
SAVE_BUDGET = (
    "INSERT OR REPLACE INTO budgets (batch, tokens, money, hard, granted) VALUES (?, ?, ?, ?, ?)"
)
DROP_BUDGET = "DELETE FROM budgets WHERE batch = ?"
SAVE_FACT = "INSERT OR REPLACE INTO facts (key, value) VALUES (?, ?)"
INSERT_COMMAND = (
    "INSERT OR IGNORE INTO commands (id, kind, by, at_ms, receipt) VALUES (?, ?, ?, ?, ?)"
)
FORGET_COMMANDS = "DELETE FROM commands WHERE at_ms < ?"
FORGET_EVENTS = (
    "DELETE FROM events WHERE last_seq IN "
    "(SELECT last_seq FROM events WHERE at_ms < ? ORDER BY last_seq LIMIT 1000)"
)
INSERT_EVENTS = "INSERT INTO events (last_seq, first_seq, at_ms, body) VALUES (?, ?, ?, ?)"

_BEFORE_CLAIMS = (
    INSERT_FOLDER,
    RENAME_FOLDER,
    INSERT_ABOVE,
    DEFINE_FOLDER,
    UNDEFINE_FOLDER,
    FORGET_TASK_FOLDER,
    SAVE_AGENT,
    SAVE_BATCH,
    SAVE_BATCH_PLAN,
    INSERT_CONVERSATION,
    SAVE_SESSION,
    HAND_OVER,
    INSERT_TASK,
    REPLAN_TASK,
    REPLAN_ITEM,
    ADVANCE_TASK,
    SAVE_ITEM_VALUE,
    COMMIT_BARRIER,
    MOVE_TASK,
    SAVE_TASK_AGENT,
    SAVE_CONVERSATION_AGENT,
    EDIT_PROMPT,
    DROP_DEPENDENCIES,
    INSERT_DEPENDENCY,
    SAVE_LIMIT,
    REBIND_LIMIT,
    DROP_HOLD,
    SAVE_HOLD,
    SAVE_SPENT,
    DROP_BUDGET,
    SAVE_BUDGET,
    SAVE_COOLDOWN,
    DROP_COOLDOWN,
    END_ATTEMPT,
    UPDATE_TURN,
    INSERT_TURN,
    INSERT_MESSAGE,
    COPY_MESSAGE,
    REPEAT_STEP,
    EDIT_MESSAGE,
    INSERT_RECEIPT,
    SAVE_ASK,
    DROP_ALLOWANCE,
    SAVE_ALLOWANCE,
    SAVE_BLOCKER,
    SAVE_ISSUE_MOVE,
)
_AFTER_CLAIMS = (
    INSERT_ATTEMPT,
    START_ATTEMPT,
    UPDATE_TASK,
    SAVE_FACT,
    INSERT_COMMAND,
    FORGET_COMMANDS,
    FORGET_EVENTS,
    INSERT_EVENTS,
)

_CHANGES_ONE_ROW_EACH = frozenset({UPDATE_TURN, UPDATE_TASK, COMMIT_BARRIER})
"""A compare-and-set that finds nothing means that memory and disk disagree."""


@dataclass(slots=True)
class Changes:
    """The rows of one transaction. Statements run in one fixed order, each over all its rows.

    The order is such that slots are freed before claims take them, and that parents precede
    children; within one statement rows keep the order in which they were added.
    """

    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    claims: list[tuple[Any, ...]] = field(default_factory=list)
    """`(turn, attempt, attempts, lane, forced, forced_by, started_ms)`"""

    def add(self, statement: str, row: tuple[Any, ...]) -> None:
        rows = self.rows.get(statement)
        if rows is None:
            self.rows[statement] = [row]
        else:
            rows.append(row)

    def take_back(self, statement: str, key: Any) -> None:
        """Forgets the rows with this first value: what follows in the transaction undoes them."""
        if statement in self.rows:
            self.rows[statement] = [row for row in self.rows[statement] if row[0] != key]

    def __bool__(self) -> bool:
        return bool(self.rows or self.claims)

    def write(self, raw: sqlite3.Connection) -> dict[int, str]:
        """Writes everything in one transaction; runs on the connection's thread.

        Returns the prompts of the claimed turns by turn.

        Raises:
            GuardRefused: a claim or a change found the row in another state; nothing is written.
            sqlite3.Error: nothing is written.
        """
        raw.execute("BEGIN IMMEDIATE")
        try:
            self._run(raw, _BEFORE_CLAIMS)
            prompts = self._claim(raw)
            self._run(raw, _AFTER_CLAIMS)
            reached("commit.before")
            raw.execute("COMMIT")
        except BaseException:
            if raw.in_transaction:
                raw.execute("ROLLBACK")
            raise
        reached("commit.after")
        return prompts

    def _run(self, raw: sqlite3.Connection, statements: Iterable[str]) -> None:
        for statement in statements:
            rows = self.rows.get(statement)
            if not rows:
                continue
            changed = raw.executemany(statement, rows).rowcount
            if statement in _CHANGES_ONE_ROW_EACH and changed != len(rows):
                raise GuardRefused("A row on disk is not in the state it was thought to be in.")

    def _claim(self, raw: sqlite3.Connection) -> dict[int, str]:
        if not self.claims:
            return {}
        rows = raw.execute(CLAIM, (json.dumps(self.claims),)).fetchall()
        if len(rows) != len(self.claims):
            begun = {row[0] for row in rows}
            refused = [claim for claim in self.claims if claim[0] not in begun]
            words = f"The database refused to start {sorted(claim[0] for claim in refused)[:5]}."
            own = frozenset(claim[0] for claim in refused if claim[5] is None)
            raise GuardRefused(words, own)
        return {row[0]: row[1] for row in rows}
