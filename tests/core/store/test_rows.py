"""Every column survives the way to disk and back, through every read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import anyio
import pytest

from batchdeck.core.errors import StoreError
from batchdeck.core.model.agent import Agent, AgentKind, PromptVia
from batchdeck.core.model.ask import Ask, AskState
from batchdeck.core.model.batch import Batch, BatchState, Interrupt, OnError
from batchdeck.core.model.blocker import Blocker, BlockerState
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.task import Because, Status, Task
from batchdeck.core.model.turn import Trigger, Turn, TurnState
from batchdeck.core.store import batch_rows, rows
from batchdeck.core.store import changes as sql
from batchdeck.core.store.changes import Changes, GuardRefused
from batchdeck.core.store.connection import Connection, open_reader, open_writer
from batchdeck.core.store.events import events_row, read_events
from batchdeck.core.store.load import load
from batchdeck.core.store.migrate import migrate, migrations, version

FOLDER = Folder("/repo/ä", "1:2", ("1:1", "1:0"))

TURN = Turn(
    id=5,
    agent="coder",
    conversation=3,
    trigger=Trigger.RETRY,
    position=2,
    state=TurnState.QUEUED,
    priority=7,
    task=4,
    batch="b",
    target="issue-1",
    folder=FOLDER,
    lane=Status.FAILED,
    not_before_ms=11,
    held_by="op",
    authorised=False,
    forced=("agent", "global"),
    forced_by="op",
    attempt="f" * 32,
    attempts=2,
    queued_ms=12,
    started_ms=13,
    exit_code=-9,
    error="broke",
    stopped_by="op",
    title="ein Títel",
)
TASK = Task(
    id=4,
    key="T4",
    batch="b",
    title="title",
    agent="coder",
    status=Status.FAILED,
    conversation=3,
    position=1,
    priority=7,
    target="issue-1",
    folder="/repo/ä",
    issue="o/r#1",
    turn=5,
    attempts=2,
    error="broke",
    because=Because.CANCELLED,
    updated_ms=14,
    index=3,
    step=1,
    item='{"path": "ä.md"}',
    barrier=True,
    shared="log",
)
BATCH = Batch(
    id=1,
    name="b",
    state=BatchState.FAILED,
    on_error=OnError.COLLECT,
    collect_to="errors",
    interrupt=Interrupt.QUIESCE,
    max_attempts=3,
    reconciliation_interval_seconds=1.5,
    base="/base",
    file="/base/b.yaml",
    prepare=(("make", "setup"), ("true",)),
    created_ms=1,
    ended_ms=2,
    stopped_admitting=True,
    adding=4,
)
AGENT = Agent(
    "coder",
    AgentKind.COMMAND,
    command=("run", "{prompt_file}"),
    prompt_via=PromptVia.FILE,
    output="jsonl",
    success_pattern="ok",
    failure_pattern="no",
    parallelism_limit=None,
    serial=True,
    folder="/f",
    timeout_seconds=1.5,
    quiet_seconds=2.5,
    linger_seconds=3.5,
    account="team",
    price_input=1.0,
    price_output=2.0,
    env={"A": "b"},
    pass_env=("KEY",),
    base_url="http://127.0.0.1",
    model="m",
    api_key_env="K",
    script={"seconds": [1, 2]},
    version=4,
)
ASK = Ask(
    id=9,
    turn=5,
    question="which?",
    choices=("a", "b"),
    schema='{"type": "string"}',
    default="a",
    alive=True,
    scope="edit in folder",
    covers="edit anything in its working folder",
    state=AskState.OPEN,
    answer="b",
    opened_ms=1,
    answered_ms=2,
    answered_by="op",
)


BLOCKER = Blocker(
    id=7,
    task=4,
    question="which port?",
    ask=9,
    state=BlockerState.ANSWERED,
    answer="8080",
    opened_ms=1,
    opened_by="op",
    answered_ms=2,
    answered_by="other",
)


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(tmp_path / "deck.db", isolation_level=None)
    made.row_factory = sqlite3.Row
    migrate(made)
    yield made
    made.close()


def written(raw: sqlite3.Connection) -> None:
    changes = Changes()
    changes.add(sql.INSERT_FOLDER, (1, FOLDER.key, FOLDER.path))
    for depth, key in enumerate((FOLDER.key, *FOLDER.above)):
        changes.add(sql.INSERT_ABOVE, (1, key, depth))
    changes.add(sql.SAVE_BATCH, batch_rows.batch_values(BATCH))
    changes.add(sql.INSERT_CONVERSATION, (3, "coder", 4, "s-1", "talk", "b", "log", 1))
    changes.add(sql.INSERT_TASK, rows.task_values(TASK, "do it", "print"))
    changes.add(sql.INSERT_TURN, rows.turn_values(TURN, 1))
    document = __import__("json").dumps(rows.agent_document(AGENT))
    changes.add(sql.SAVE_AGENT, ("coder", document, 4, "b.yaml", 1, 0))
    changes.add(sql.SAVE_ASK, rows.ask_values(ASK))
    changes.add(sql.SAVE_BLOCKER, rows.blocker_values(BLOCKER))
    changes.add(sql.SAVE_ISSUE_MOVE, (4, "closed then", "DONE", 6))
    changes.add(sql.SAVE_LIMIT, ("agent:coder", 3, 1, "op", 7, "flag", 1))
    changes.add(sql.SAVE_HOLD, ("agent:coder", "op", "why", 8))
    changes.write(raw)


def test_every_column_of_every_row_comes_back(raw: sqlite3.Connection) -> None:
    written(raw)
    stored = load(raw, ended_turns=10)
    assert stored.turns == [TURN]
    assert stored.tasks == [TASK]
    assert stored.batches == [BATCH]
    assert stored.agents == [AGENT]
    assert stored.asks == [ASK]
    assert stored.blockers == [BLOCKER]
    assert stored.issue_moves == {4: ("closed then", "DONE", 6)}
    (limit,) = stored.limits
    assert (limit.value, limit.changed_by, limit.origin, limit.explicit) == (3, "op", "flag", True)
    (hold,) = stored.holds
    assert (hold.what, hold.by, hold.reason, hold.at_ms) == ("agent:coder", "op", "why", 8)
    (conversation,) = stored.conversations
    assert (conversation.task, conversation.session, conversation.title) == (4, "s-1", "talk")
    assert (conversation.batch, conversation.called) == ("b", "log")


@pytest.mark.parametrize(
    "value", [TURN, TASK, BATCH, AGENT, ASK, BLOCKER], ids=lambda v: type(v).__name__
)
def test_no_field_is_at_its_default_in_that_test(value: object) -> None:
    """A column that were forgotten would come back as the default, unnoticed."""
    at_default = {
        field.name
        for field in fields(value)  # type: ignore[arg-type]
        if getattr(value, field.name) == field.default
    }
    assert at_default <= {
        "state",
        "spent",  # what is spent is not read
        "ended_ms",
        "blocked",
        "depends_on",
        "foreach",
        "committed",
        "broken",
        "wrote",
    }


def test_each_state_of_a_turn_has_a_number_of_its_own() -> None:
    assert sorted(rows.STATE_CODES.values()) == list(range(len(TurnState)))
    assert set(rows.STATE_CODES) == set(TurnState)


def test_a_changed_row_that_is_in_another_state_refuses_the_whole_transaction(
    raw: sqlite3.Connection,
) -> None:
    written(raw)
    changes = Changes()
    changes.add(sql.SAVE_FACT, ("key", "value"))
    running = 1
    new = (0, 7, 2, 1, "FAILED", 0, None, 1, "", None, None, 2, None, None, None, None, None, "new")
    changes.add(sql.UPDATE_TURN, (*new, "coder", "b", None, TURN.id, running))
    with pytest.raises(GuardRefused):
        changes.write(raw)
    assert raw.execute("SELECT count(*) FROM facts").fetchone()[0] == 0


def test_events_are_read_from_any_point_and_from_the_end(raw: sqlite3.Connection) -> None:
    for first in (1, 4, 7):
        noted = [(first + n, 9, "k", 1, "b/T", "b", "a", "op", {"n": n}) for n in range(3)]
        raw.execute(sql.INSERT_EVENTS, events_row(noted))
    assert [event.seq for event in read_events(raw, 0, 100)] == list(range(1, 10))
    assert [event.seq for event in read_events(raw, 4, 2)] == [5, 6]
    assert [event.seq for event in read_events(raw, -1, 4)] == [6, 7, 8, 9]
    event = read_events(raw, 8, 1)[0]
    assert event.as_json() == {
        "seq": 9,
        "at_ms": 9,
        "kind": "k",
        "turn": "1",
        "task": "T",
        "batch": "b",
        "agent": "a",
        "by": "op",
        "n": 2,
    }
    found = raw.execute("SELECT seq, by FROM events_in_rows WHERE seq = 9").fetchone()
    assert tuple(found) == (9, "op")


def test_migrations_are_numbered_without_gaps_and_applied_once(raw: sqlite3.Connection) -> None:
    assert [m.number for m in migrations()] == list(range(1, len(migrations()) + 1))
    assert version(raw) == len(migrations())
    assert migrate(raw) == []


def test_a_deck_of_a_newer_batchdeck_is_left_untouched(raw: sqlite3.Connection) -> None:
    raw.execute("PRAGMA user_version = 9999")
    with pytest.raises(StoreError, match="newer batchdeck"):
        migrate(raw)
    assert version(raw) == 9999


def test_a_migration_that_fails_leaves_nothing_of_itself(tmp_path: Path) -> None:
    from batchdeck.core.store.migrate import Migration, _apply

    made = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    broken = Migration(1, "0001_x.sql", "CREATE TABLE one (id);\nCREATE TABLE one (id);\n")
    with pytest.raises(sqlite3.OperationalError):
        _apply(made, broken)
    assert version(made) == 0
    assert made.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    made.close()


@pytest.mark.anyio
async def test_a_cancelled_caller_leaves_a_whole_transaction(tmp_path: Path) -> None:
    connection: Connection = await open_writer(tmp_path / "deck.db")
    await connection.run(migrate)
    changes = Changes()
    changes.add(sql.SAVE_FACT, ("key", "value"))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await connection.run(changes.write)
    found = await connection.rows("SELECT value FROM facts WHERE key = 'key'")
    in_transaction = await connection.run(lambda raw: raw.in_transaction)
    assert not in_transaction
    assert [row["value"] for row in found] == ["value"]
    await connection.close()


@pytest.mark.anyio
async def test_a_reader_cannot_write(tmp_path: Path) -> None:
    writer = await open_writer(tmp_path / "deck.db")
    await writer.run(migrate)
    reader = await open_reader(tmp_path / "deck.db")
    with pytest.raises(StoreError):
        await reader.rows("INSERT INTO facts (key, value) VALUES ('a', 'b')")
    await reader.close()
    await writer.close()


@pytest.mark.anyio
async def test_the_writers_pragmas_are_those_that_were_chosen(tmp_path: Path) -> None:
    writer = await open_writer(tmp_path / "deck.db")

    async def pragma(name: str) -> object:
        return (await writer.rows(f"PRAGMA {name}"))[0][0]

    assert await pragma("journal_mode") == "wal"
    assert await pragma("synchronous") == 2
    assert await pragma("foreign_keys") == 1
    await writer.close()
