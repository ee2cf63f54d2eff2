"""What must not stand in the source: each rule is a fault that others had and no run shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SIGNALLING = {"kill", "killpg", "terminate", "send_signal", "pidfd_send_signal"}
MAY_SIGNAL = {
    "core/executors/runner.py": {"killpg"},
    "core/executors/process_tree.py": {"pidfd_send_signal", "kill"},
    "core/executors/processes.py": {"pidfd_send_signal", "killpg"},
    "core/executors/local.py": {"kill"},
    "core/points.py": {"kill"},
    "core/first_process.py": {"kill"},
}
"""Everybody else has them do it: there alone a process is proven before it is signalled."""
OPENING = {
    *("open", "fdopen", "read_bytes", "read_text", "write_bytes", "write_text"),
    *("copy", "copy2", "copyfile", "copytree", "move", "chown", "truncate"),
}
TIME_AS_TEXT = re.compile(
    r"\b(datetime|strftime|julianday|unixepoch) *\(|CURRENT_(TIME|DATE)", re.IGNORECASE
)
READS_THE_WALL_CLOCK = {
    "time.time",
    "time.time_ns",
    "datetime.now",
    "datetime.utcnow",
    "date.today",
}


def sources(*rooms: str) -> Iterator[tuple[str, ast.Module]]:
    for room in rooms or ("core", "tui"):
        for path in sorted((ROOT / room).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Each call with the last part of the name that is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute):
                yield called.attr, node
            elif isinstance(called, ast.Name):
                yield called.id, node


def test_signals_are_sent_where_processes_are_proven_and_nowhere_else() -> None:
    for path, tree in sources():
        found = {name for name, _ in calls(tree)} & SIGNALLING
        assert found <= MAY_SIGNAL.get(path, set()), path


def test_who_holds_a_descriptor_of_a_process_never_signals_its_number() -> None:
    for path, tree in sources("core"):
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                named = {name for name, _ in calls(function)}
                assert "pidfd_open" not in named or not named & {"kill", "killpg"}, (
                    f"{path}: {function.name}"
                )


def test_the_databases_file_is_opened_by_sqlite_alone() -> None:
    """Closing another descriptor of it would drop SQLite's locks."""
    for path, tree in sources():
        for name, call in calls(tree):
            words = ast.unparse(call)
            touches = "database" in words or "deck.db" in words
            assert not (name in OPENING and touches), f"{path}: {words}"


def test_a_transaction_is_one_plain_call() -> None:
    for path, tree in sources("core"):
        for function in ast.walk(tree):
            if isinstance(function, ast.AsyncFunctionDef):
                words = [
                    node.value
                    for node in ast.walk(function)
                    if isinstance(node, ast.Constant) and isinstance(node.value, str)
                ]
                begun = [word for word in words if word.startswith(("BEGIN", "COMMIT"))]
                assert not begun, f"{path}: {function.name} may wait within a transaction"


@pytest.mark.parametrize("folder", ["core/store", "core/deck", "core/doctor"])
def test_no_time_is_stored_or_compared_as_text(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.sql"):
        assert not TIME_AS_TEXT.search(path.read_text("utf-8")), path
    for path, tree in sources(folder):
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not [text for text in texts if TIME_AS_TEXT.search(text)], path
        assert not {name for name, _ in calls(tree)} & {"strftime", "isoformat"}, path


def test_the_engine_asks_one_clock() -> None:
    """A wall clock that is set, a change of the time zone or of daylight saving reaches nothing."""
    for path, tree in sources("core"):
        if path == "core/clock.py":
            continue
        for _, call in calls(tree):
            named = ast.unparse(call.func)
            naive = named.endswith("fromtimestamp") and len(call.args) + len(call.keywords) < 2
            shown = path.startswith("core/export/")
            assert named not in READS_THE_WALL_CLOCK, f"{path}: {named}"
            assert shown or not naive, f"{path}: local time"
