"""Signs of life: what has come out of an attempt, and what is left of one that is being stopped."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread
import pytest

from batchdeck.core.deck import pulse
from batchdeck.core.deck.pulse import _look, _Output, _pulse
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.telling.opencode import OpenCode
from tests.core.executors.support import launch, left, until
from tests.support.stub_deck import agent, turn

pytestmark = pytest.mark.anyio
AGENTS = {1: agent()}


async def test_a_turn_that_is_being_stopped_tells_how_many_processes_are_left(
    tmp_path: Path,
) -> None:
    ready = tmp_path / "ready"
    executor = LocalExecutor()
    given = launch(
        tmp_path, f"fork=background trap=TERM touch={ready} sleep=600", grace_seconds=0.2
    )
    await executor.start(given)
    await anyio.to_thread.run_sync(until, ready.exists)
    stopping = turn(1, state=TurnState.STOPPING, attempt=given.run.name)
    seen = _look(DeckPaths(tmp_path), [stopping], AGENTS, {}, {})
    assert seen[1].processes == len(left(given.run.name)) >= 2
    running = turn(1, state=TurnState.RUNNING, attempt=given.run.name)
    assert _look(DeckPaths(tmp_path), [running], AGENTS, {}, {}) == {}, "nobody counts what runs"
    await executor.stop(given.run)
    await executor.wait(given.run)
    assert _look(DeckPaths(tmp_path), [stopping], AGENTS, {}, {})[1].processes == 0


def test_every_line_of_a_loud_agent_is_counted_a_piece_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "_MOST_AT_ONCE", 1_000)
    output = tmp_path / attempt_files.OUTPUT
    output.write_text("a line\n" * 1_000)
    seen, looks = _Output(), 0
    while (found := _pulse(output, seen, None)) is not None:
        last, looks = found, looks + 1
    assert (last.lines, last.last_line, looks) == (1_000, "a line", 7)


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ('{"type":"text","part":{"text":"nearly done"}}\n', "nearly done"),
        ('{"type":"text","part":{"text":"one\\ntwo"}}\n{"type":"step_start"}\n', "two"),
        (
            '{"type":"text","part":{"text":"half an eve',
            '{"type":"text","part":{"text":"half an eve',
        ),
        ('{"type":"text","part":{"text":"' + "x" * 40_000 + '"}}\n', ""),
    ],
)
def test_the_last_line_of_an_output_of_events_is_the_last_that_was_told(
    tmp_path: Path, events: str, told: str
) -> None:
    output = tmp_path / attempt_files.OUTPUT
    output.write_text(events)
    seen = _pulse(output, _Output(), OpenCode())
    assert seen is not None
    assert seen.last_line == told
