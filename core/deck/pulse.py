"""Signs of life of running turns: how much output there is, when it last grew, its last line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.to_thread

from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.letters import Pulses
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.holes import read_piece
from batchdeck.core.executors.processes import marks
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.points import reached
from batchdeck.core.telling.said import Teller
from batchdeck.core.telling.transcript import teller_of, told_lines
from batchdeck.core.text import clean_line, decode
from batchdeck.core.view import Pulse

EVERY_SECONDS = 1.0
_TAIL = 4096
_TAIL_OF_EVENTS = 32_768
"""Of an output of events, which are longer than what they tell."""
_MOST_AT_ONCE = 1 << 22
"""Bytes of one output in which lines are counted at one look; the rest is counted later."""


@dataclass(slots=True)
class _Output:
    """How far an attempt's output has been looked at."""

    size: int = 0
    counted: int = 0
    lines: int = 0


async def take_pulses(engine: Engine, paths: DeckPaths) -> None:
    """Looks at the output of what runs once a second, and at nothing while nothing runs."""
    known: dict[int, Pulse] = {}
    outputs: dict[str, _Output] = {}
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
        agents = {turn.id: view.agents.get(turn.agent) for turn in running}
        pulses = await anyio.to_thread.run_sync(_look, paths, running, agents, known, outputs)
        pulses = {
            turn: replace(
                pulse, last_line=engine.secrets_of(agents.get(turn)).hide(pulse.last_line)
            )
            for turn, pulse in pulses.items()
        }
        if pulses != known:
            known = pulses
            engine.post(Pulses(dict(pulses)))


def _look(
    paths: DeckPaths,
    running: list[Turn],
    agents: Mapping[int, Agent | None],
    known: Mapping[int, Pulse],
    outputs: dict[str, _Output],
) -> dict[int, Pulse]:
    pulses: dict[int, Pulse] = {}
    left = marks() if any(turn.state is TurnState.STOPPING for turn in running) else {}
    for turn in running:
        if turn.attempt is None:
            continue
        output = outputs.setdefault(turn.attempt, _Output())
        teller = teller_of(agents[turn.id])
        pulse = _pulse(paths.run(turn.attempt) / attempt_files.OUTPUT, output, teller)
        pulse = pulse or known.get(turn.id)
        if turn.state is TurnState.STOPPING:
            silent = Pulse(0, turn.started_ms or 0, "")
            pulse = replace(pulse or silent, processes=left.get(turn.attempt, 0))
        if pulse is not None:
            pulses[turn.id] = pulse
    for attempt in outputs.keys() - {turn.attempt for turn in running}:
        del outputs[attempt]
    return pulses


def _pulse(path: Path, output: _Output, teller: Teller | None) -> Pulse | None:
    """The sign of life of one attempt; None where nothing is new."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size == output.size and output.counted == output.size:
                return None
            counted, piece = read_piece(file.fileno(), output.counted, _MOST_AT_ONCE)
            begin = max(0, status.st_size - (_TAIL if teller is None else _TAIL_OF_EVENTS))
            file.seek(begin)
            tail = file.read(status.st_size - begin)
    except OSError:
        return None
    output.counted = counted + len(piece)
    output.size = max(status.st_size, output.counted)
    output.lines += piece.count(b"\n")
    return Pulse(output.lines, status.st_mtime_ns // 1_000_000, _last_line(tail, teller, begin > 0))


def _last_line(tail: bytes, teller: Teller | None, is_cut: bool) -> str:
    """The last that was told, as one clean line; of an event that is too long for that, nothing."""
    if teller is None:
        return clean_line(decode(tail.rstrip(b"\n").rpartition(b"\n")[2]), 200)
    if is_cut:
        tail = tail.partition(b"\n")[2]
    lines = [line.words for line in told_lines(teller, tail) if line.words.strip()]
    return clean_line(lines[-1], 200) if lines else ""
