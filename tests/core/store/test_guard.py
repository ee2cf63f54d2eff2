"""The database itself refuses a claim that would break a limit, and counts rows to know."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.store.changes import CLAIM, INSERT_ABOVE, INSERT_FOLDER, INSERT_TURN
from batchdeck.core.store.migrate import migrate
from batchdeck.core.store.rows import STATE_CODES, turn_values
from tests.support.builders import StateBuilder, folder


class Rows:
    """A deck's tables, filled by direct SQL."""

    def __init__(self, path: Path) -> None:
        self.raw = sqlite3.connect(path, isolation_level=None)
        self.raw.row_factory = sqlite3.Row
        migrate(self.raw)
        self.build = StateBuilder()
        self.limit("global", 10)
        self._folders: dict[str, int] = {}

    def limit(self, name: str, binding: int | None) -> None:
        row = (name, binding, binding)
        self.raw.execute("INSERT OR REPLACE INTO limits (name, value, binding) VALUES (?,?,?)", row)

    def turn(self, state: str = "queued", **fields: Any) -> int:
        path = fields.pop("path", None)
        where = None if path is None else self._folder(path)
        turn = self.build.turn(fields.pop("agent", "a"), **fields)
        agent = (turn.conversation, turn.agent)
        self.raw.execute(
            "INSERT OR IGNORE INTO conversations (id, agent, created_ms) VALUES (?, ?, 0)", agent
        )
        values = list(turn_values(turn, where))
        self.raw.execute(INSERT_TURN, values)
        if state != "queued":
            code = STATE_CODES[state]  # type: ignore[index]
            self.raw.execute("DROP TRIGGER guard")
            self.raw.execute("UPDATE turns SET state = ? WHERE id = ?", (code, turn.id))
            self.raw.execute(self.guard)
        return turn.id

    @property
    def guard(self) -> str:
        script = migrate.__globals__["migrations"]()[0].sql
        begin = script.index("CREATE TRIGGER guard")
        return str(script[begin : script.index("END;", begin) + 4])

    def _folder(self, path: str) -> int:
        if path not in self._folders:
            number = self._folders[path] = len(self._folders) + 1
            found = folder(path)
            self.raw.execute(INSERT_FOLDER, (number, found.key, found.path))
            for depth, key in enumerate((found.key, *found.above)):
                self.raw.execute(INSERT_ABOVE, (number, key, depth))
        return self._folders[path]

    def claim(self, *turns: int, forced: str = "") -> list[int]:
        claims = [(turn, "a" * 32, 1, "READY", forced, None, 1) for turn in turns]
        return sorted(row[0] for row in self.raw.execute(CLAIM, (json.dumps(claims),)))


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Rows]:
    made = Rows(tmp_path / "deck.db")
    yield made
    made.raw.close()


def test_a_turn_with_room_everywhere_is_claimed(rows: Rows) -> None:
    turn = rows.turn(batch="b", lane="READY")
    assert rows.claim(turn) == [turn]


@pytest.mark.parametrize(
    "name", ["global", "agent:a", "batch:b", "status:b/READY"], ids=lambda name: name.split(":")[0]
)
def test_a_full_limit_refuses(rows: Rows, name: str) -> None:
    rows.limit(name, 1)
    rows.turn("running", batch="b", lane="READY")
    assert rows.claim(rows.turn(batch="b", lane="READY")) == []


@pytest.mark.parametrize("name", ["global", "agent:a", "batch:b", "status:b/READY"])
def test_a_forced_turn_passes_just_the_gate_it_names(rows: Rows, name: str) -> None:
    rows.limit(name, 1)
    rows.turn("running", batch="b", lane="READY")
    gate = name.split(":")[0]
    other = "agent" if gate != "agent" else "global"
    turn = rows.turn(batch="b", lane="READY")
    assert rows.claim(turn, forced=f",{other},") == []
    assert rows.claim(turn, forced=f",{gate},") == [turn]


def test_a_closed_limit_is_passed_by_nobody(rows: Rows) -> None:
    rows.limit("agent:a", 0)
    assert rows.claim(rows.turn(), forced=",agent,") == []


def test_claims_of_one_statement_count_against_each_other(rows: Rows) -> None:
    rows.limit("agent:a", 2)
    turns = [rows.turn() for _ in range(6)]
    assert rows.claim(*turns) == turns[:2]


def test_a_limit_lowered_below_what_runs_refuses_until_it_is_below(rows: Rows) -> None:
    for _ in range(3):
        rows.turn("running")
    rows.limit("agent:a", 2)
    assert rows.claim(rows.turn()) == []


@pytest.mark.parametrize(
    ("held", "wanted"),
    [("/repo", "/repo"), ("/repo", "/repo/docs/api"), ("/repo/docs/api", "/repo")],
    ids=["twin", "child", "parent"],
)
@pytest.mark.parametrize("state", ["running", "stopping", "waiting"])
def test_an_occupied_folder_refuses_parent_child_and_twin(
    rows: Rows, held: str, wanted: str, state: str
) -> None:
    rows.turn(state, path=held)
    assert rows.claim(rows.turn(path=wanted)) == []


def test_a_folder_whose_name_begins_alike_is_another(rows: Rows) -> None:
    rows.turn("running", path="/repo")
    turn = rows.turn(path="/repo2")
    assert rows.claim(turn) == [turn]


@pytest.mark.parametrize("earlier", ["queued", "running", "waiting"])
def test_an_earlier_turn_of_the_target_refuses(rows: Rows, earlier: str) -> None:
    rows.turn(earlier, target="issue-1")
    assert rows.claim(rows.turn(target="issue-1")) == []
    other = rows.turn(target="issue-2")
    assert rows.claim(other) == [other]


def test_an_earlier_turn_of_the_conversation_refuses(rows: Rows) -> None:
    rows.turn(conversation=7)
    assert rows.claim(rows.turn(conversation=7)) == []


def test_a_held_or_unauthorised_turn_is_refused(rows: Rows) -> None:
    assert rows.claim(rows.turn(held_by="op")) == []
    assert rows.claim(rows.turn(authorised=False)) == []


def test_a_turn_that_is_not_queued_is_not_claimed_again(rows: Rows) -> None:
    assert rows.claim(rows.turn("running")) == []


def test_an_ended_turn_never_changes_its_state(rows: Rows) -> None:
    turn = rows.turn()
    rows.raw.execute("UPDATE turns SET state = 4, ended_ms = 1 WHERE id = ?", (turn,))
    with pytest.raises(sqlite3.IntegrityError, match="never changes"):
        rows.raw.execute("UPDATE turns SET state = 0, ended_ms = NULL WHERE id = ?", (turn,))


QUESTIONS = {
    "turns_live": "SELECT count(*) FROM turns WHERE state BETWEEN 1 AND 2 AND agent = 'a'",
    "turns_open_by_target": "SELECT 1 FROM turns WHERE target = 'x' AND ended_ms IS NULL "
    "AND (position, id) < (1, 1)",
    "turns_open_by_conversation": "SELECT 1 FROM turns WHERE conversation = 1 "
    "AND ended_ms IS NULL AND (position, id) < (1, 1)",
    "turns_in_folders": "SELECT 1 FROM turns AS live WHERE live.folder IS NOT NULL "
    "AND live.state BETWEEN 1 AND 3",
}


@pytest.mark.parametrize("index", QUESTIONS)
def test_the_guards_questions_are_answered_from_an_index(rows: Rows, index: str) -> None:
    plan = rows.raw.execute(f"EXPLAIN QUERY PLAN {QUESTIONS[index]}").fetchone()["detail"]
    assert f"INDEX {index}" in plan
