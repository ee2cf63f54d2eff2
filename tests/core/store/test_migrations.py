"""Decks of every earlier schema open; a migration that ends at any statement leaves nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from batchdeck.core.deck.restoring import state_from
from batchdeck.core.model.task import Because
from batchdeck.core.store import migrate as migrating
from batchdeck.core.store.load import load
from batchdeck.core.store.migrate import migrate, migrations, statements, version

NEWEST = migrations()[-1].number
REASONS_SINCE = 7
SESSION_COST_SINCE = 10
SPENT_SINCE = 5
"""The schema that adds up what earlier attempts used."""
EARLIER = range(1, NEWEST)
PAST = """
INSERT INTO batches (id, name, state, on_error, interrupt, max_attempts, reconcile_seconds, base,
    created_ms) VALUES (1, 'old', 'running', 'skip', 'quiesce', 1, 30, '/', 1);
INSERT INTO agents (name, version, definition, origin, changed_ms) VALUES ('a', 1, '{"name": "a",
    "kind": "demo", "prompt_via": "stdin", "command": [], "pass_env": []}', 'x.yaml', 1);
INSERT INTO conversations (id, agent, task, created_ms) VALUES (1, 'a', 1, 1), (2, 'a', 2, 1);
INSERT INTO tasks (id, key, batch, title, agent, prompt, status, conversation, position, priority,
    turn, fingerprint, updated_ms) VALUES
    (1, 'T1', 'old', 'one', 'a', 'x', 'DONE', 1, 0, 0, 1, 'f', 1),
    (2, 'T2', 'old', 'two', 'a', 'x', 'READY', 2, 1, 0, 2, 'f', 1);
INSERT INTO turns (id, agent, conversation, trigger, position, state, priority, task, batch, lane,
    attempt, attempts, queued_ms, started_ms, ended_ms) VALUES
    (1, 'a', 1, 'task', 1, 4, 0, 1, 'old', 'READY', 'r1', 1, 1, 2, 3),
    (2, 'a', 2, 'task', 2, 0, 0, 2, 'old', 'READY', NULL, 0, 1, NULL, NULL);
INSERT INTO attempts (id, turn, number, agent_version, claimed_ms, started_ms, ended_ms, "end",
    tokens_in, tokens_out, cost) VALUES ('r1', 1, 1, 1, 2, 2, 3, 'exited', 10, 5, 0.5);
INSERT INTO messages (id, conversation, turn, role, text, at_ms) VALUES (1, 1, 1, 'agent', 'y', 3);
"""


def deck_of(schema: int, path: Path) -> sqlite3.Connection:
    """A deck as a batchdeck of that schema left it."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.row_factory = sqlite3.Row
    for one in migrations()[:schema]:
        migrating._apply(raw, one)
    for statement in statements(PAST):
        raw.execute(statement)
    return raw


def content(raw: sqlite3.Connection) -> str:
    return "\n".join([str(version(raw)), *raw.iterdump()])


@pytest.mark.parametrize("schema", EARLIER)
def test_a_deck_of_an_earlier_schema_opens_with_all_it_had(schema: int, tmp_path: Path) -> None:
    with closing(deck_of(schema, tmp_path / "old.db")) as raw:
        assert len(migrate(raw)) == NEWEST - schema
        assert version(raw) == NEWEST
        state = state_from(load(raw, 10), "/deck")
        assert [(t.name, str(t.status)) for t in state.tasks.values()] == [
            ("old/T1", "DONE"),
            ("old/T2", "READY"),
        ]
        assert [str(turn.state) for turn in state.turns.values()] == ["succeeded", "queued"]
        if schema < SPENT_SINCE:
            assert state.spent["agent:a"].tokens == 15


@pytest.mark.parametrize("schema", EARLIER)
def test_it_has_the_schema_that_a_new_deck_has(schema: int, tmp_path: Path) -> None:
    def schema_of(raw: sqlite3.Connection) -> list[tuple[str, str]]:
        rows = raw.execute("SELECT name, sql FROM sqlite_master ORDER BY name")
        return [tuple(row) for row in rows]

    with (
        closing(deck_of(schema, tmp_path / "old.db")) as old,
        closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as new,
    ):
        migrate(old)
        migrate(new)
        assert schema_of(old) == schema_of(new)


def test_reasons_that_were_words_are_read_once(tmp_path: Path) -> None:
    with closing(deck_of(REASONS_SINCE - 1, tmp_path / "old.db")) as raw:
        raw.execute(
            "UPDATE tasks SET status = 'FAILED', error = 'dependency T9 failed' WHERE id = 1"
        )
        raw.execute("UPDATE tasks SET status = 'FAILED', error = 'cancelled by Ann' WHERE id = 2")
        raw.execute("UPDATE turns SET state = 2, error = 'stopped by Ann' WHERE id = 2")
        migrate(raw)
        state = state_from(load(raw, 10), "/deck")
        assert state.tasks[1].because is Because.DEPENDENCY
        assert state.tasks[2].because is Because.CANCELLED
        assert state.turns[2].stopped_by == "Ann"


def test_what_a_session_has_cost_is_not_counted_again(tmp_path: Path) -> None:
    with closing(deck_of(SESSION_COST_SINCE - 1, tmp_path / "old.db")) as raw:
        raw.execute("UPDATE conversations SET session = 's'")
        migrate(raw)
        state = state_from(load(raw, 10), "/deck")
        assert state.conversations[1].session_cost == 0.5
        assert state.conversations[2].session_cost is None


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("schema", EARLIER)
def test_ended_at_any_statement_it_is_as_before_or_as_after(
    schema: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that goes away with its process takes its transaction along."""
    path = tmp_path / "old.db"
    with closing(deck_of(schema, path)) as raw:
        steps = [content(raw)]
        for one in migrations()[schema:]:
            migrating._apply(raw, one)
            steps.append(content(raw))
    count = sum(len(statements(one.sql)) for one in migrations()[schema:])
    for last in range(count):
        path.unlink()
        with closing(deck_of(schema, path)) as raw:
            left = [last]

            def killed(point: str, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] < 0:
                    raise Killed

            monkeypatch.setattr(migrating, "reached", killed)
            with pytest.raises(Killed):
                migrate(raw)
            monkeypatch.undo()
        with closing(sqlite3.connect(path, isolation_level=None)) as again:
            assert content(again) in steps
            migrate(again)
            assert content(again) == steps[-1]


def test_a_disk_that_is_full_in_a_migration_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA max_page_count = 5")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            migrate(raw)
        assert version(raw) == 0
