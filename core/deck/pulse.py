"""Signs of life of running turns: how much output there is, when it last grew, its last line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.letters import Pulses
from batchdeck.core.executors import runner
from batchdeck.core.model.turn import Turn
from batchdeck.core.paths import DeckPaths
from batchdeck.core.points import reached
from batchdeck.core.text import clean_line, decode
from batchdeck.core.view import Pulse

EVERY_SECONDS = 1.0
_TAIL = 4096


async def take_pulses(engine: Engine, paths: DeckPaths) -> None:
    """Looks at the output of what runs once a second, and at nothing while nothing runs."""
    known: dict[int, Pulse] = {}
    sizes: dict[str, tuple[int, int]] = {}
    revision = -1
    while True:
        view = await engine.wait_newer(revision)
        revision = view.revision
        running = [view.turns[turn] for turn in view.live]
        if running:
            await anyio.sleep(EVERY_SECONDS)
            view = engine.view
            revision = view.revision - 1  # something still runs: look again in a second
            running = [view.turns[turn] for turn in view.live if turn in view.turns]
        elif not known:
            continue
        reached("tick")
        pulses = await anyio.to_thread.run_sync(_look, paths, running, known, sizes)
        if pulses != known:
            known = pulses
            engine.post(Pulses(dict(pulses)))


def _look(
    paths: DeckPaths,
    running: list[Turn],
    known: Mapping[int, Pulse],
    sizes: dict[str, tuple[int, int]],
) -> dict[int, Pulse]:
    pulses: dict[int, Pulse] = {}
    for turn in running:
        if turn.attempt is None:
            continue
        pulse = _pulse(paths.run(turn.attempt) / runner.OUTPUT, turn.attempt, sizes)
        if pulse is None:
            pulse = known.get(turn.id)
        if pulse is not None:
            pulses[turn.id] = pulse
    gone = sizes.keys() - {turn.attempt for turn in running}
    for attempt in gone:
        del sizes[attempt]
    return pulses


def _pulse(path: Path, attempt: str, sizes: dict[str, tuple[int, int]]) -> Pulse | None:
    """The sign of life of one attempt; None where nothing is new."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            size, lines = sizes.get(attempt, (0, 0))
            if status.st_size == size:
                return None
            file.seek(size)
            lines += file.read(1 << 22).count(b"\n")
            file.seek(max(0, status.st_size - _TAIL))
            tail = file.read(_TAIL).rstrip(b"\n").rsplit(b"\n", 1)[-1]
    except OSError:
        return None
    sizes[attempt] = (status.st_size, lines)
    return Pulse(lines, status.st_mtime_ns // 1_000_000, clean_line(decode(tail), 200))
